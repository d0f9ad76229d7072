//! What attempts draw and cost, column by column.
//!
//! Attempts come in stretches of one pool, tier and day; rates are looked up where one ends and made once a batch for
//! each, and a row allocates nothing. Invariants: an amount is null where the attempt's usage is unknown, since
//! missing is not zero, and money also where a price is. An attempt that a limit refused, or that failed without
//! usage, draws no tokens and costs nothing. Where the client does not tell what a cache served, all of the
//! input counts as uncached. Attempts whose pool no row knows are counted plainly, and what they cost is
//! unknown.

use std::sync::Arc;

use ahash::AHashMap;
use arrow::{
    array::{
        Array, ArrayRef, AsArray, BooleanArray, Decimal128Array, Int64Array, StringArray, StructArray,
        TimestampMicrosecondArray,
    },
    buffer::NullBuffer,
    datatypes::{DataType, Fields, Int64Type, TimestampMicrosecondType},
    error::ArrowError,
};
use jiff::tz::TimeZone;
use plimsoll_catalog::{Call, Catalog, Charged, Draw, PoolKey, Rates, Tier};

use crate::windows::{DAY_MICROS, civil_day};

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
    throttled: &'a BooleanArray,
    billed: &'a BooleanArray,
    counts: [Counts<'a>; COUNTS],
}

/// A column of counts.
#[derive(Clone, Copy)]
struct Counts<'a> {
    values: &'a [i64],
    nulls: Option<&'a NullBuffer>,
}

impl Counts<'_> {
    /// A count and whether it is told; 0 where it is not, or is nonsense. Without a branch, since that would be
    /// taken at random.
    #[inline]
    fn at(&self, row: usize) -> (u64, bool) {
        let value = self.values[row];
        let told = self.nulls.is_none_or(|nulls| nulls.is_valid(row)) & (value >= 0);
        (value.cast_unsigned() & u64::from(told).wrapping_neg(), told)
    }
}

/// What an attempt took.
enum Used {
    /// It was refused.
    Refused,
    /// It failed before anything was made.
    Nothing,
    Known(Call),
    Unknown,
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
            throttled: throttled.as_boolean(),
            billed: billed.as_boolean(),
            counts: counts.each_ref().map(|array| {
                let array: &Int64Array = array.as_primitive::<Int64Type>();
                Counts { values: array.values(), nulls: array.nulls() }
            }),
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
        let mut drawn = Columns::new(rows);
        let mut some = Vec::with_capacity(SOME);
        let mut tariffs: AHashMap<Place<'_>, Tariff<'_>> = AHashMap::new();
        let mut first = 0;
        while first < rows {
            let place = Place::of(self, first);
            let end = (first + 1..rows).find(|row| !place.holds(self, *row)).unwrap_or(rows);
            let tariff = tariffs.entry(place).or_insert_with(|| Tariff::new(catalog, &place));
            while first < end {
                let next = end.min(first + SOME);
                some.extend((first..next).map(|row| tariff.drawn(self.used(row))));
                drawn.take(&mut some);
                first = next;
            }
        }
        drawn.finish(fields)
    }

    /// What an attempt took, as the catalog counts it.
    #[inline]
    fn used(&self, row: usize) -> Used {
        if self.throttled.is_valid(row) && self.throttled.value(row) {
            return Used::Refused;
        }
        let [input, uncached, read, written, written_1h, output, reasoning, audio, max_output] = &self.counts;
        let (input, uncached, output) = (input.at(row), uncached.at(row), output.at(row));
        let (input, told) = if uncached.1 { uncached } else { input };
        if !told || !output.1 {
            let failed = self.billed.is_valid(row) && !self.billed.value(row);
            return if failed && !output.1 { Used::Nothing } else { Used::Unknown };
        }
        let (max_output, written) = (max_output.at(row), written.at(row).0);
        let (audio, written_1h) = (audio.at(row).0.min(input), written_1h.at(row).0.min(written));
        Used::Known(Call {
            input_uncached: input - audio,
            audio,
            cache_read: read.at(row).0,
            cache_write: written - written_1h,
            cache_write_1h: written_1h,
            output: output.0,
            reasoning: reasoning.at(row).0,
            max_output: max_output.1.then_some(max_output.0),
            ..Call::default()
        })
    }
}

/// Attempts that are metered before their amounts are moved to the columns: as many as the nearest cache holds.
const SOME: usize = 64;

/// What an attempt draws and costs.
struct Drawn {
    charged: Charged,
    /// Whether the tokens are known.
    known: bool,
    /// What is billed, and what the tokens cost on demand, where known.
    money: [Option<i128>; 2],
}

/// The result under construction.
struct Columns {
    measures: [Vec<i64>; 8],
    known: Vec<bool>,
    money: [Vec<i128>; 2],
    told: [Vec<bool>; 2],
}

impl Columns {
    fn new(rows: usize) -> Self {
        Self {
            measures: MEASURES.map(|_| Vec::with_capacity(rows)),
            known: Vec::with_capacity(rows),
            money: MONEY.map(|_| Vec::with_capacity(rows)),
            told: MONEY.map(|_| Vec::with_capacity(rows)),
        }
    }

    /// Adds rows, column by column.
    fn take(&mut self, rows: &mut Vec<Drawn>) {
        let (start, end) = self.measures.split_at_mut(MEASURES.len() / 2);
        put(start, rows, |drawn| &drawn.charged.admission);
        put(end, rows, |drawn| &drawn.charged.settlement);
        self.known.extend(rows.iter().map(|drawn| drawn.known));
        for (which, (money, told)) in self.money.iter_mut().zip(&mut self.told).enumerate() {
            money.extend(rows.iter().map(|drawn| drawn.money[which].unwrap_or(0)));
            told.extend(rows.iter().map(|drawn| drawn.money[which].is_some()));
        }
        rows.clear();
    }

    fn finish(self, fields: Fields) -> Result<StructArray, ArrowError> {
        let known = NullBuffer::from(self.known);
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(fields.len());
        for (number, amounts) in self.measures.into_iter().enumerate() {
            let nulls = (number % 4 > 0).then(|| known.clone());
            columns.push(Arc::new(Int64Array::new(amounts.into(), nulls)));
        }
        for (amounts, told) in self.money.into_iter().zip(self.told) {
            let amounts = Decimal128Array::new(amounts.into(), Some(told.into()));
            columns.push(Arc::new(amounts.with_precision_and_scale(DOLLARS.0, DOLLARS.1)?));
        }
        StructArray::try_new(fields, columns, None)
    }
}

/// Puts draws into the columns of requests, input, output and all tokens.
#[inline]
fn put(columns: &mut [Vec<i64>], rows: &[Drawn], draw: impl Fn(&Drawn) -> &Draw) {
    let [requests, input, output, tokens] = columns else { return };
    let count = |amount: u64| amount.min(i64::MAX.cast_unsigned()).cast_signed();
    requests.extend(rows.iter().map(|drawn| count(draw(drawn).requests)));
    input.extend(rows.iter().map(|drawn| count(draw(drawn).input_tokens)));
    output.extend(rows.iter().map(|drawn| count(draw(drawn).output_tokens)));
    tokens.extend(rows.iter().map(|drawn| count(draw(drawn).tokens)));
}

/// Rates of a pool, tier and day, and what those draw that used nothing.
struct Tariff<'c> {
    rates: Option<Rates<'c>>,
    /// Units that are held cover the calls, so that they add nothing to the bill.
    covered: bool,
    /// A tier that the catalog has no name for: its price is not known.
    unnamed_tier: bool,
    refused: Charged,
    nothing: Charged,
    unknown: Charged,
}

impl<'c> Tariff<'c> {
    fn new(catalog: &'c Catalog, place: &Place<'_>) -> Self {
        let day = place.day.and_then(|day| civil_day(&TimeZone::UTC, day.checked_mul(DAY_MICROS)?));
        let key = place.pool.and_then(|pool| PoolKey::parse(pool).ok());
        let named = place.tier.map_or(Ok(Tier::Standard), str::parse::<Tier>);
        let served = named.as_ref().copied().unwrap_or_default();
        let rates = key.zip(day).and_then(|(key, day)| catalog.rates(&key, served, day));
        let idle = |status| Call { max_output: Some(0), status, ..Call::default() };
        let charged = |call: &Call| rates.as_ref().map_or_else(|| plain(call), |rates| rates.charged(call));
        let (refused, nothing) = (charged(&idle(Some(429))), charged(&idle(None)));
        let unknown = charged(&Call::default());
        let (covered, unnamed_tier) = (rates.as_ref().is_some_and(Rates::covered), named.is_err());
        Self { rates, covered, unnamed_tier, refused, nothing, unknown }
    }

    #[inline]
    fn drawn(&self, used: Used) -> Drawn {
        match used {
            Used::Known(call) => {
                let charged = self.charged(&call);
                let billed = if self.covered { Some(0) } else { charged.list_value };
                Drawn { charged, known: true, money: [billed, charged.list_value] }
            }
            Used::Refused => unpaid(self.refused),
            Used::Nothing => unpaid(self.nothing),
            // A request is a request, whatever it used.
            Used::Unknown => Drawn { charged: self.unknown, known: false, money: [None; 2] },
        }
    }

    #[inline]
    fn charged(&self, call: &Call) -> Charged {
        match &self.rates {
            Some(rates) if self.unnamed_tier => Charged { list_value: None, ..rates.charged(call) },
            Some(rates) => rates.charged(call),
            None => plain(call),
        }
    }
}

/// An attempt without tokens has nothing to pay.
fn unpaid(charged: Charged) -> Drawn {
    Drawn { charged, known: true, money: [Some(0); 2] }
}

/// Every token once, where no rule is known.
fn plain(call: &Call) -> Charged {
    let drawn = Draw::plain(call);
    Charged { admission: drawn, settlement: drawn, list_value: None }
}

/// Pool, tier and day of attempts.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Place<'a> {
    pool: Option<&'a str>,
    tier: Option<&'a str>,
    /// Days since 1970.
    day: Option<i64>,
}

impl<'a> Place<'a> {
    fn of(attempts: &Attempts<'a>, row: usize) -> Self {
        let text = |array: &'a StringArray| array.is_valid(row).then(|| array.value(row));
        let micros = attempts.start.is_valid(row).then(|| attempts.start.value(row));
        Self {
            pool: text(attempts.pool),
            tier: text(attempts.tier),
            day: micros.map(|micros| micros.div_euclid(DAY_MICROS)),
        }
    }

    /// Whether an attempt is of this place.
    #[inline]
    fn holds(&self, attempts: &Attempts<'a>, row: usize) -> bool {
        let same = |array: &'a StringArray, held: Option<&str>| match held {
            Some(text) => array.value(row) == text && array.is_valid(row),
            None => array.is_null(row),
        };
        let day = |day: i64| {
            let since = attempts.start.value(row).wrapping_sub(day.wrapping_mul(DAY_MICROS));
            (0..DAY_MICROS).contains(&since) && attempts.start.is_valid(row)
        };
        same(attempts.pool, self.pool)
            && same(attempts.tier, self.tier)
            && self.day.map_or_else(|| attempts.start.is_null(row), day)
    }
}
