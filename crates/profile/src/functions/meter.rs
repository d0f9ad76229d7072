//! `meter(pool, start_time, service_tier, throttled, billed, input_tokens, input_uncached, cache_read,
//! cache_write, cache_write_1h, output_tokens, reasoning_tokens, audio_tokens, max_output_tokens)`: what one
//! attempt draws and costs.
//!
//! Gives a struct of `admission.X` and `settlement.X` for X of requests, input_tokens, output_tokens and
//! tokens, and of `cost_usd` and `list_usd`, by the catalog's row for the pool on that day. How they come about
//! is [`metered`](super::metered)'s.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Fields};
use datafusion::{
    common::Result,
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility},
};

use super::{
    metered::{Attempts, COUNTS, MEASURES, MONEY, dollars},
    time::instant,
};
use crate::policy::Policy;

/// The function, for registration.
pub(super) fn udf(policy: &Arc<Policy>) -> ScalarUDF {
    let mut arguments = vec![DataType::Utf8, instant(), DataType::Utf8, DataType::Boolean, DataType::Boolean];
    arguments.resize(arguments.len() + COUNTS, DataType::Int64);
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
    let measures = MEASURES.into_iter().map(|name| Field::new(name, DataType::Int64, true));
    measures.chain(MONEY.into_iter().map(|name| Field::new(name, dollars(), true))).collect()
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
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let attempts = Attempts::of(&arrays)?;
        let drawn = attempts.metered(&self.policy.catalog, args.number_rows, fields())?;
        Ok(ColumnarValue::Array(Arc::new(drawn)))
    }
}
