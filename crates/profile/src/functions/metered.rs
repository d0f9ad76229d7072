//! What attempts draw and cost, column by column.
//!
//! A word of attempts is read at a time ([`counts`](super::counts)), and charged in stretches of one pool, tier and
//! day ([`tariff`](super::tariff)); a row allocates nothing. Invariants: an amount is null where the attempt's usage
//! is unknown, since missing is not zero, and money also where a price is. An attempt that a limit refused, or that
//! failed without usage, draws no tokens and costs nothing. Where the client does not tell what a cache served, all
//! of the input counts as uncached.

use std::sync::Arc;

use ahash::AHashMap;
use arrow::{
    array::{
        Array, ArrayRef, AsArray, Decimal128Array, Int64Array, StringArray, StructArray,
        TimestampMicrosecondArray,
    },
    buffer::{BooleanBuffer, Buffer, NullBuffer},
    datatypes::{DataType, Fields, Int64Type, TimestampMicrosecondType},
    error::ArrowError,
};
use plimsoll_catalog::{Calls, Catalog, ChargedCalls, Column, Draws};

use super::{
    counts::{Bits, Counts, WORD},
    tariff::{Place, Tariff},
};
use crate::windows::DAY_MICROS;

/// Measures, in the order in which they stand in the struct.
pub(super) const MEASURES: [&str; 8] = [
    "admission.requests",
    "admission.input_tokens",
    "admission.output_tokens",
    "admission.tokens",
    "settlement.requests",
    "settlement.input_tokens",
    "settlement.output_tokens",
    "settlement.tokens",
];
/// Money, behind the measures: what is billed, and what the tokens cost on demand.
pub(super) const MONEY: [&str; 2] = ["cost_usd", "list_usd"];
/// Precision and scale of money, as tables have it: whole picodollars.
const DOLLARS: (u8, i8) = (38, 12);

/// Type of money.
pub(super) fn dollars() -> DataType {
    DataType::Decimal128(DOLLARS.0, DOLLARS.1)
}

/// Columns of counts: input, uncached, read, written, written for an hour, output, reasoning, audio,
/// `max_tokens`.
pub(super) const COUNTS: usize = 9;

/// Columns of attempts.
pub(super) struct Attempts<'a> {
    pool: &'a StringArray,
    start: &'a TimestampMicrosecondArray,
    tier: &'a StringArray,
    /// A limit refused them.
    refused: Bits,
    /// They are known not to be on the bill.
    unbilled: Bits,
    counts: [Counts<'a>; COUNTS],
}

/// What a word of attempts took; what those took that have no bit is unknown.
struct Used {
    /// They were refused.
    refused: u64,
    /// They failed before anything was made.
    nothing: u64,
    /// Their usage is in `calls`, where the others used nothing.
    known: u64,
    calls: Calls,
}

impl<'a> Attempts<'a> {
    /// Takes the columns, in the order of the function's arguments.
    ///
    /// # Errors
    /// Fewer or more of them.
    pub(super) fn of(arrays: &'a [ArrayRef]) -> Result<Self, ArrowError> {
        let wrong = || ArrowError::InvalidArgumentError(format!("meter got {} arguments", arrays.len()));
        let [pool, start, tier, throttled, billed, counts @ ..] = arrays else { return Err(wrong()) };
        let counts = <&[ArrayRef; COUNTS]>::try_from(counts).map_err(|_| wrong())?;
        Ok(Self {
            pool: pool.as_string(),
            start: start.as_primitive::<TimestampMicrosecondType>(),
            tier: tier.as_string(),
            refused: Bits::where_is(true, throttled.as_boolean()),
            unbilled: Bits::where_is(false, billed.as_boolean()),
            counts: counts.each_ref().map(|array| Counts::of(array.as_primitive::<Int64Type>())),
        })
    }

    /// What each of the `rows` draws and costs: a struct of [`MEASURES`] and [`MONEY`].
    ///
    /// # Errors
    /// `fields` that are not those.
    pub(super) fn metered(
        &self,
        catalog: &Catalog,
        rows: usize,
        fields: Fields,
    ) -> Result<StructArray, ArrowError> {
        let mut columns = Columns::new(rows);
        let mut tariffs: AHashMap<Place<'_>, Tariff<'_>> = AHashMap::new();
        let mut charged = ChargedCalls::default();
        for (nth, start) in (0..rows).step_by(WORD).enumerate() {
            let used = self.used(nth);
            let (mut covered, mut unnamed) = (0, 0);
            let (mut first, last) = (start, rows.min(start + WORD));
            while first < last {
                let place = self.place(first);
                let end = (first + 1..last).find(|row| !self.is_of(&place, *row)).unwrap_or(last);
                let tariff = tariffs.entry(place).or_insert_with(|| Tariff::new(catalog, &place));
                let which = first - start..end - start;
                tariff.charge(&used.calls, which.clone(), used.refused, &mut charged);
                covered |= if tariff.covered { Calls::bits(&which) } else { 0 };
                unnamed |= if tariff.unnamed_tier { Calls::bits(&which) } else { 0 };
                first = end;
            }
            charged.priced &= !unnamed;
            columns.take(last - start, &used, &charged, covered);
        }
        columns.finish(rows, fields)
    }

    /// What the nth word of attempts took, as the catalog counts it.
    fn used(&self, nth: usize) -> Used {
        let [input, uncached, read, written, written_1h, output, reasoning, audio, max_output] = &self.counts;
        let refused = self.refused.word(nth);
        let (split, told) = (uncached.told(nth), output.told(nth));
        let known = (split | input.told(nth)) & told & !refused;
        let nothing = self.unbilled.word(nth) & !(refused | known | told);
        let mut calls = Calls::default();
        let put = |counts: &Counts<'_>, which: u64, into: &mut Column| {
            let which = counts.told(nth) & known & which;
            counts.add(nth, which, into);
            which
        };
        put(uncached, split, &mut calls.input_uncached);
        put(input, !split, &mut calls.input_uncached);
        put(read, known, &mut calls.cache_read);
        put(written, known, &mut calls.cache_write);
        put(output, known, &mut calls.plain_output);
        calls.unset = known & !put(max_output, known, &mut calls.max_output);
        let part = |counts: &Counts<'_>, part: &mut Column, whole: &mut Column| {
            if put(counts, known, part) > 0 {
                set_apart(part, whole);
            }
        };
        part(audio, &mut calls.audio, &mut calls.input_uncached);
        part(written_1h, &mut calls.cache_write_1h, &mut calls.cache_write);
        part(reasoning, &mut calls.reasoning, &mut calls.plain_output);
        Used { refused, nothing, known, calls }
    }

    /// Where a row's attempt was made.
    fn place(&self, row: usize) -> Place<'a> {
        let text = |array: &'a StringArray| array.is_valid(row).then(|| array.value(row));
        let micros = self.start.is_valid(row).then(|| self.start.value(row));
        Place {
            pool: text(self.pool),
            tier: text(self.tier),
            day: micros.map(|micros| micros.div_euclid(DAY_MICROS)),
        }
    }

    /// Whether a row's attempt was made at that place.
    #[inline]
    fn is_of(&self, place: &Place<'_>, row: usize) -> bool {
        let same = |array: &'a StringArray, held: Option<&str>| match held {
            Some(text) => array.value(row) == text && array.is_valid(row),
            None => array.is_null(row),
        };
        let day = |day: i64| {
            let since = self.start.value(row).wrapping_sub(day.wrapping_mul(DAY_MICROS));
            (0..DAY_MICROS).contains(&since) && self.start.is_valid(row)
        };
        same(self.pool, place.pool)
            && same(self.tier, place.tier)
            && place.day.map_or_else(|| self.start.is_null(row), day)
    }
}

/// Takes a part out of the whole that it is told with, or as much as that has.
fn set_apart(part: &mut Column, whole: &mut Column) {
    for (part, whole) in part.iter_mut().zip(whole) {
        *part = (*part).min(*whole);
        *whole -= *part;
    }
}

/// The result under construction.
struct Columns {
    measures: [Vec<i64>; 8],
    known: Vec<u64>,
    money: [Vec<i128>; 2],
    told: [Vec<u64>; 2],
}

impl Columns {
    fn new(rows: usize) -> Self {
        let words = || Vec::with_capacity(rows.div_ceil(WORD));
        Self {
            measures: MEASURES.map(|_| Vec::with_capacity(rows)),
            known: words(),
            money: MONEY.map(|_| Vec::with_capacity(rows)),
            told: MONEY.map(|_| words()),
        }
    }

    /// Adds a word of rows, column by column.
    fn take(&mut self, rows: usize, used: &Used, charged: &ChargedCalls, covered: u64) {
        let (start, end) = self.measures.split_at_mut(MEASURES.len() / 2);
        put(start, rows, &charged.admission);
        put(end, rows, &charged.settlement);
        // An attempt without tokens has nothing to pay.
        let unpaid = used.refused | used.nothing;
        self.known.push(used.known | unpaid);
        let [cost, list] = &mut self.money;
        list.extend_from_slice(&charged.list_value[..rows]);
        let billed = |(row, value): (usize, &i128)| if covered >> row & 1 > 0 { 0 } else { *value };
        cost.extend(charged.list_value[..rows].iter().enumerate().map(billed));
        let [cost, list] = &mut self.told;
        cost.push((charged.priced | covered) & used.known | unpaid);
        list.push(charged.priced & used.known | unpaid);
    }

    fn finish(self, rows: usize, fields: Fields) -> Result<StructArray, ArrowError> {
        let nulls = |words: Vec<u64>| NullBuffer::new(bit_buffer(words, rows));
        let known = nulls(self.known);
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(fields.len());
        for (number, amounts) in self.measures.into_iter().enumerate() {
            let nulls = (number % 4 > 0).then(|| known.clone());
            columns.push(Arc::new(Int64Array::new(amounts.into(), nulls)));
        }
        for (amounts, told) in self.money.into_iter().zip(self.told) {
            let amounts = Decimal128Array::new(amounts.into(), Some(nulls(told)));
            columns.push(Arc::new(amounts.with_precision_and_scale(DOLLARS.0, DOLLARS.1)?));
        }
        StructArray::try_new(fields, columns, None)
    }
}

/// Puts draws into the columns of requests, input, output and all tokens.
fn put(columns: &mut [Vec<i64>], rows: usize, draws: &Draws) {
    let amounts = [&draws.requests, &draws.input_tokens, &draws.output_tokens, &draws.tokens];
    for (column, amounts) in columns.iter_mut().zip(amounts) {
        let before = column.len();
        column.extend(amounts[..rows].iter().map(|amount| amount.cast_signed()));
        let added = &mut column[before..];
        // More than a column holds: seldom, so asked of all at once.
        if added.iter().fold(0, |any, amount| any | amount).is_negative() {
            added.iter_mut().filter(|amount| amount.is_negative()).for_each(|amount| *amount = i64::MAX);
        }
    }
}

/// Words as Arrow has bits: the lowest byte first.
fn bit_buffer(words: Vec<u64>, rows: usize) -> BooleanBuffer {
    BooleanBuffer::new(words.into_iter().map(u64::to_le).collect::<Buffer>(), 0, rows)
}
