//! What attempts draw and cost, column by column.
//!
//! Rates are looked up where pool, tier or day change from one attempt to the next, and made once a batch for
//! each; a row allocates nothing. Invariants: an amount is null where the attempt's usage is unknown, since
//! missing is not zero, and money also where a price is. An attempt that a limit refused, or that failed without
//! usage, draws no tokens and costs nothing. Where the client does not tell what a cache served, all of the
//! input counts as uncached. Attempts whose pool no row knows are counted plainly, and what they cost is
//! unknown.

use std::{collections::HashMap, sync::Arc};

use arrow::{
    array::{
        Array, ArrayRef, AsArray, BooleanArray, Decimal128Array, Int64Array, StringArray, StructArray,
        TimestampMicrosecondArray,
    },
    buffer::NullBuffer,
    datatypes::{DataType, Fields, Int64Type, TimestampMicrosecondType},
    error::ArrowError,
};
use jiff::{Timestamp, tz::TimeZone};
use plimsoll_catalog::{Call, Catalog, Charged, Draw, PoolKey, Rates, Tier};

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
    counts: [&'a Int64Array; COUNTS],
}

/// What an attempt took.
enum Used {
    /// Nothing: it was refused, or failed before anything was made.
    Refused,
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
            counts: counts.each_ref().map(|array| array.as_primitive::<Int64Type>()),
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
        let mut measures = MEASURES.map(|_| Vec::with_capacity(rows));
        let mut money = MONEY.map(|_| Vec::with_capacity(rows));
        let mut known = Vec::with_capacity(rows);
        let mut told = MONEY.map(|_| Vec::with_capacity(rows));
        let mut tariffs = Tariffs::new(catalog);
        for row in 0..rows {
            let tariff = tariffs.of(self, row);
            let (charged, usd, is_known) = match self.used(row) {
                Used::Refused => (tariff.refused, [Some(0); 2], true),
                Used::Nothing => (tariff.nothing, [Some(0); 2], true),
                // A request is a request, whatever it used.
                Used::Unknown => (tariff.unknown, [None; 2], false),
                Used::Known(call) => {
                    let charged = tariff.charged(&call);
                    let billed = if tariff.covered { Some(0) } else { charged.list_value };
                    (charged, [billed, charged.list_value], true)
                }
            };
            let stages = [charged.admission, charged.settlement];
            for (columns, draw) in measures.chunks_exact_mut(4).zip(stages) {
                let amounts = [draw.requests, draw.input_tokens, draw.output_tokens, draw.tokens];
                for (column, amount) in columns.iter_mut().zip(amounts) {
                    column.push(i64::try_from(amount).unwrap_or(i64::MAX));
                }
            }
            known.push(is_known);
            for ((column, told), usd) in money.iter_mut().zip(&mut told).zip(usd) {
                column.push(usd.unwrap_or(0));
                told.push(usd.is_some());
            }
        }
        let known = NullBuffer::from(known);
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(fields.len());
        for (number, amounts) in measures.into_iter().enumerate() {
            let nulls = (number % 4 > 0).then(|| known.clone());
            columns.push(Arc::new(Int64Array::new(amounts.into(), nulls)));
        }
        for (amounts, told) in money.into_iter().zip(told) {
            let amounts = Decimal128Array::new(amounts.into(), Some(told.into()));
            columns.push(Arc::new(amounts.with_precision_and_scale(DOLLARS.0, DOLLARS.1)?));
        }
        StructArray::try_new(fields, columns, None)
    }

    /// What an attempt took, as the catalog counts it.
    fn used(&self, row: usize) -> Used {
        let [input, uncached, read, written, written_1h, output, reasoning, audio, max_output] = self
            .counts
            .map(|array| array.is_valid(row).then(|| u64::try_from(array.value(row)).ok()).flatten());
        if self.throttled.is_valid(row) && self.throttled.value(row) {
            return Used::Refused;
        }
        let failed = self.billed.is_valid(row) && !self.billed.value(row);
        let (Some(input), Some(output)) = (uncached.or(input), output) else {
            return if failed && output.is_none() { Used::Nothing } else { Used::Unknown };
        };
        let (written, audio) = (written.unwrap_or(0), audio.unwrap_or(0).min(input));
        let written_1h = written_1h.unwrap_or(0).min(written);
        Used::Known(Call {
            input_uncached: input - audio,
            audio,
            cache_read: read.unwrap_or(0),
            cache_write: written - written_1h,
            cache_write_1h: written_1h,
            output,
            reasoning: reasoning.unwrap_or(0),
            max_output,
            ..Call::default()
        })
    }
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
    fn new(catalog: &'c Catalog, pool: Option<&str>, tier: Option<&str>, micros: Option<i64>) -> Self {
        let day = micros.and_then(|micros| Timestamp::from_microsecond(micros).ok());
        let day = day.map(|time| time.to_zoned_datetime(TimeZone::UTC).date());
        let key = pool.and_then(|pool| PoolKey::parse(pool).ok());
        let named = tier.map_or(Ok(Tier::Standard), str::parse::<Tier>);
        let served = named.as_ref().copied().unwrap_or_default();
        let rates = key.zip(day).and_then(|(key, day)| catalog.rates(&key, served, day));
        let idle = |status| Call { max_output: Some(0), status, ..Call::default() };
        let charged = |call: &Call| rates.as_ref().map_or_else(|| plain(call), |rates| rates.charged(call));
        let (refused, nothing) = (charged(&idle(Some(429))), charged(&idle(None)));
        let unknown = charged(&Call::default());
        let (covered, unnamed_tier) = (rates.as_ref().is_some_and(Rates::covered), named.is_err());
        Self { rates, covered, unnamed_tier, refused, nothing, unknown }
    }

    fn charged(&self, call: &Call) -> Charged {
        match &self.rates {
            Some(rates) if self.unnamed_tier => Charged { list_value: None, ..rates.charged(call) },
            Some(rates) => rates.charged(call),
            None => plain(call),
        }
    }
}

/// Every token once, where no rule is known.
fn plain(call: &Call) -> Charged {
    let input = call.input();
    let drawn = Draw {
        requests: 1,
        input_tokens: input,
        output_tokens: call.output,
        tokens: input.saturating_add(call.output),
    };
    Charged { admission: drawn, settlement: drawn, list_value: None }
}

/// Pool, tier and day of an attempt.
type Where<'a> = (Option<&'a str>, Option<&'a str>, Option<i64>);

/// The tariffs of a batch.
struct Tariffs<'a, 'c> {
    catalog: &'c Catalog,
    made: Vec<Tariff<'c>>,
    places: HashMap<Where<'a>, usize>,
    last: Option<(Where<'a>, usize)>,
}

impl<'a, 'c> Tariffs<'a, 'c> {
    fn new(catalog: &'c Catalog) -> Self {
        Self { catalog, made: Vec::new(), places: HashMap::new(), last: None }
    }

    fn of(&mut self, attempts: &Attempts<'a>, row: usize) -> &Tariff<'c> {
        let text = |array: &'a StringArray| array.is_valid(row).then(|| array.value(row));
        let micros = attempts.start.is_valid(row).then(|| attempts.start.value(row));
        let (pool, tier) = (text(attempts.pool), text(attempts.tier));
        let place = (pool, tier, micros.map(|micros| micros.div_euclid(86_400_000_000)));
        let at = match self.last {
            Some((last, at)) if last == place => at,
            _ => {
                let made = &mut self.made;
                let at = *self.places.entry(place).or_insert_with(|| {
                    made.push(Tariff::new(self.catalog, pool, tier, micros));
                    made.len() - 1
                });
                self.last = Some((place, at));
                at
            }
        };
        &self.made[at]
    }
}
