//! `percentiles(x, [0.5, 0.95])` and `percentiles(x, weight, [0.5, 0.95])`: exact percentiles, all levels in
//! one pass.
//!
//! What a percentile is, with and without weights, is told in `sample.rs`. The engine's own
//! `percentile_cont` cuts the interpolation weight to six decimals, so it is not used.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, AsArray, Float64Builder, ListBuilder},
    datatypes::{DataType, FieldRef, Float64Type},
    record_batch::RecordBatch,
};
use datafusion::{
    common::{Result, ScalarValue, exec_err, plan_err},
    logical_expr::{
        Accumulator, AggregateUDF, AggregateUDFImpl, ColumnarValue, GroupsAccumulator, Signature, Volatility,
        function::{AccumulatorArgs, StateFieldsArgs},
    },
};

use super::{
    one_group::OneGroup,
    sample::Sample,
    samples::{Finish, Samples, item, state_fields},
};

/// The function, for registration.
pub(super) fn udaf() -> AggregateUDF {
    AggregateUDF::from(Percentiles { signature: Signature::user_defined(Volatility::Immutable) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Percentiles {
    signature: Signature,
}

impl AggregateUDFImpl for Percentiles {
    fn name(&self) -> &str {
        "percentiles"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let is_list = |it: &DataType| {
            matches!(it, DataType::List(_) | DataType::FixedSizeList(..) | DataType::LargeList(_))
        };
        match types {
            [numbers @ .., levels]
                if is_list(levels)
                    && matches!(numbers.len(), 1 | 2)
                    && numbers.iter().all(|it| it.is_numeric() || it.is_null()) =>
            {
                let mut wanted = vec![DataType::Float64; numbers.len()];
                wanted.push(DataType::List(item()));
                Ok(wanted)
            }
            _ => plan_err!(
                "percentiles takes a number, perhaps its weight, and a list of levels, as in \
                 percentiles(x, [0.5, 0.95]) or percentiles(x, weight, [0.5, 0.95])"
            ),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::List(item()))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        Ok(state_fields(args.name, 1))
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(OneGroup(Samples::new(AtLevels::of(&args)?))))
    }

    fn groups_accumulator_supported(&self, _: AccumulatorArgs) -> bool {
        true
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(Samples::new(AtLevels::of(&args)?)))
    }
}

#[derive(Debug, Clone)]
struct AtLevels(Vec<f64>);

impl AtLevels {
    /// The levels, which must be a constant list of numbers from 0 to 1.
    fn of(args: &AccumulatorArgs) -> Result<Self> {
        let empty = RecordBatch::new_empty(Arc::new(args.schema.clone()));
        let levels = args.exprs.last().map(|expr| expr.evaluate(&empty));
        let Some(Ok(ColumnarValue::Scalar(ScalarValue::List(list)))) = levels else {
            return plan_err!("the levels of percentiles must be a constant list");
        };
        let values = list.values().as_primitive_opt::<Float64Type>();
        let Some(values) = values.filter(|v| v.null_count() == 0) else {
            return plan_err!("the levels of percentiles must be numbers");
        };
        for level in values.values() {
            if !(0.0..=1.0).contains(level) {
                return plan_err!("a level of percentiles must lie between 0 and 1, not {level}");
            }
        }
        Ok(Self(values.values().to_vec()))
    }
}

impl Finish for AtLevels {
    fn columns(&self, arguments: &[ArrayRef]) -> Result<(Vec<ArrayRef>, Option<ArrayRef>)> {
        match arguments {
            [value, _] => Ok((vec![Arc::clone(value)], None)),
            [value, weight, _] => Ok((vec![Arc::clone(value)], Some(Arc::clone(weight)))),
            _ => exec_err!("percentiles got {} arguments", arguments.len()),
        }
    }

    fn width(&self) -> usize {
        1
    }

    fn finish(&self, samples: &mut [Sample]) -> Result<ArrayRef> {
        let mut lists = ListBuilder::new(Float64Builder::new()).with_field(item());
        for sample in samples {
            let found = sample.percentiles(&self.0);
            lists.values().append_slice(found.as_deref().unwrap_or_default());
            lists.append(found.is_some());
        }
        Ok(Arc::new(lists.finish()))
    }
}
