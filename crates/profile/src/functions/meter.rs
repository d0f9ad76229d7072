//! `meter(pool, start_time, throttled, billed, input_tokens, input_uncached, cache_read, cache_write,
//! output_tokens, reasoning_tokens, max_output_tokens)`: what one attempt draws.
//!
//! Gives a struct of `admission.X` and `settlement.X` for X of requests, input_tokens, output_tokens and
//! tokens, by the catalog's row for the pool on that day. An amount is
//! null where the attempt's usage is unknown: missing is not zero. An attempt that a limit refused, or
//! that failed without usage, draws no tokens. Where the client does not tell what a cache served, all of
//! the input counts as uncached: an upper bound. Attempts whose pool no row knows are counted plainly.

use std::{collections::HashMap, sync::Arc};

use arrow::{
    array::{Array, ArrayRef, AsArray, BooleanArray, Int64Array, Int64Builder, StringArray, StructArray},
    datatypes::{DataType, Field, Fields, Int64Type, TimestampMicrosecondType},
};
use datafusion::{
    common::{Result, exec_err},
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility},
};
use jiff::{Timestamp, tz::TimeZone};
use plimsoll_catalog::{Call, Draw, Entry, Metered, PoolKey};

use super::time::instant;
use crate::policy::Policy;

/// Measures, in the order in which they stand in the struct.
const MEASURES: [&str; 8] = [
    "admission.requests",
    "admission.input_tokens",
    "admission.output_tokens",
    "admission.tokens",
    "settlement.requests",
    "settlement.input_tokens",
    "settlement.output_tokens",
    "settlement.tokens",
];

/// The function, for registration.
pub(super) fn udf(policy: &Arc<Policy>) -> ScalarUDF {
    let mut arguments = vec![DataType::Utf8, instant(), DataType::Boolean, DataType::Boolean];
    arguments.resize(11, DataType::Int64);
    ScalarUDF::from(Meter {
        policy: Arc::clone(policy),
        signature: Signature::exact(arguments, Volatility::Immutable),
    })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Meter {
    policy: Arc<Policy>,
    signature: Signature,
}

fn fields() -> Fields {
    MEASURES.map(|measure| Field::new(measure, DataType::Int64, true)).into_iter().collect()
}

impl ScalarUDFImpl for Meter {
    fn name(&self) -> &str {
        "meter"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Struct(fields()))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let attempts = Attempts::of(&arrays)?;
        let mut entries = HashMap::new();
        let mut amounts = MEASURES.map(|_| Int64Builder::with_capacity(rows));
        for row in 0..rows {
            let entry = attempts.entry(row, &self.policy, &mut entries);
            let drawn = attempts.call(row).map(|call| metered(&call, entry));
            let (requests, tokens) = match &drawn {
                Some(metered) => (metered, Some(metered)),
                // A request is a request, whatever it used.
                None => (&metered(&Call::default(), entry), None),
            };
            let stages = [
                (requests.admission, tokens.map(|m| m.admission)),
                (requests.settlement, tokens.map(|m| m.settlement)),
            ];
            let drawn = stages.iter().flat_map(|(stage, known)| {
                [
                    Some(whole(stage.requests)),
                    known.map(|draw| whole(draw.input_tokens)),
                    known.map(|draw| whole(draw.output_tokens)),
                    known.map(|draw| whole(draw.tokens)),
                ]
            });
            for (builder, amount) in amounts.iter_mut().zip(drawn) {
                builder.append_option(amount);
            }
        }
        let columns = amounts.map(|mut amounts| Arc::new(amounts.finish()) as ArrayRef).to_vec();
        let drawn = StructArray::try_new(fields(), columns, None)?;
        Ok(ColumnarValue::Array(Arc::new(drawn)))
    }
}

fn whole(amount: u64) -> i64 {
    i64::try_from(amount).unwrap_or(i64::MAX)
}

fn metered(call: &Call, entry: Option<&Entry>) -> Metered {
    match entry {
        Some(entry) => entry.meter(call),
        None => {
            let input = call.input_uncached + call.cache_read + call.cache_write;
            let plain = Draw {
                requests: 1,
                input_tokens: input,
                output_tokens: call.output,
                tokens: input + call.output,
            };
            Metered { admission: plain, settlement: plain, ..Metered::default() }
        }
    }
}

/// The arguments, as columns.
struct Attempts<'a> {
    pool: &'a StringArray,
    start: &'a arrow::array::TimestampMicrosecondArray,
    throttled: &'a BooleanArray,
    billed: &'a BooleanArray,
    tokens: [&'a Int64Array; 7],
}

impl<'a> Attempts<'a> {
    fn of(arrays: &'a [ArrayRef]) -> Result<Self> {
        let [pool, start, throttled, billed, rest @ ..] = arrays else {
            return exec_err!("meter got {} arguments", arrays.len());
        };
        let Ok(rest) = <&[ArrayRef; 7]>::try_from(rest) else {
            return exec_err!("meter got {} arguments", arrays.len());
        };
        Ok(Self {
            pool: pool.as_string(),
            start: start.as_primitive::<TimestampMicrosecondType>(),
            throttled: throttled.as_boolean(),
            billed: billed.as_boolean(),
            tokens: rest.each_ref().map(|array| array.as_primitive::<Int64Type>()),
        })
    }

    /// The catalog's row; asked for once a pool and day.
    fn entry<'p>(
        &self,
        row: usize,
        policy: &'p Policy,
        entries: &mut HashMap<(&'a str, i64), Option<&'p Entry>>,
    ) -> Option<&'p Entry> {
        if self.pool.is_null(row) || self.start.is_null(row) {
            return None;
        }
        let (pool, micros) = (self.pool.value(row), self.start.value(row));
        *entries.entry((pool, micros.div_euclid(86_400_000_000))).or_insert_with(|| {
            let key = PoolKey::parse(pool).ok()?;
            let day = Timestamp::from_microsecond(micros).ok()?.to_zoned_datetime(TimeZone::UTC).date();
            policy.catalog.find(&key, day)
        })
    }

    /// The attempt as the catalog takes it; none where what it used is unknown.
    fn call(&self, row: usize) -> Option<Call> {
        let [input, input_uncached, cache_read, cache_write, output, reasoning, max_output] = self
            .tokens
            .map(|array| array.is_valid(row).then(|| u64::try_from(array.value(row)).ok()).flatten());
        let refused = self.throttled.is_valid(row) && self.throttled.value(row);
        let failed = self.billed.is_valid(row) && !self.billed.value(row);
        if refused || (failed && output.is_none()) {
            return Some(Call { max_output: Some(0), status: refused.then_some(429), ..Call::default() });
        }
        Some(Call {
            input_uncached: input_uncached.or(input)?,
            cache_read: cache_read.unwrap_or(0),
            cache_write: cache_write.unwrap_or(0),
            output: output?,
            reasoning: reasoning.unwrap_or(0),
            max_output,
            ..Call::default()
        })
    }
}
