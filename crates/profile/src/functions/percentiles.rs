//! `percentiles(x, [0.5, 0.95])`: exact percentiles, all levels in one pass.
//!
//! Linear interpolation between closest ranks, the rule of SQL's `percentile_cont`: with the n known
//! values in order, level p lies at rank (n - 1) p. Nulls and NaN are not values. The engine's own
//! `percentile_cont` cuts the interpolation weight to six decimals, so it is not used.
//! Invariant: the result depends on the multiset of values only, not on files, batches or threads.

use std::{mem::size_of, sync::Arc};

use arrow::{
    array::{Array, ArrayRef, AsArray, BooleanArray, Float64Array, Float64Builder, ListArray, ListBuilder},
    buffer::{NullBuffer, OffsetBuffer},
    datatypes::{DataType, Field, FieldRef, Float64Type},
    record_batch::RecordBatch,
};
use datafusion::{
    common::{Result, ScalarValue, exec_err, internal_err, plan_err},
    logical_expr::{
        Accumulator, AggregateUDF, AggregateUDFImpl, ColumnarValue, EmitTo, GroupsAccumulator, Signature,
        Volatility,
        function::{AccumulatorArgs, StateFieldsArgs},
        utils::format_state_name,
    },
};

/// The function, for registration.
pub(super) fn udaf() -> AggregateUDF {
    AggregateUDF::from(Percentiles { signature: Signature::user_defined(Volatility::Immutable) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Percentiles {
    signature: Signature,
}

fn item() -> FieldRef {
    Arc::new(Field::new_list_field(DataType::Float64, true))
}

impl AggregateUDFImpl for Percentiles {
    fn name(&self) -> &str {
        "percentiles"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [value, DataType::List(_) | DataType::FixedSizeList(..) | DataType::LargeList(_)]
                if value.is_numeric() || value.is_null() =>
            {
                Ok(vec![DataType::Float64, DataType::List(item())])
            }
            _ => plan_err!(
                "percentiles takes a number and a list of levels, as in percentiles(x, [0.5, 0.95])"
            ),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::List(item()))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let name = format_state_name(args.name, "values");
        Ok(vec![Arc::new(Field::new(name, DataType::List(item()), true))])
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(OneGroup { levels: levels(&args)?, values: Vec::new() }))
    }

    fn groups_accumulator_supported(&self, _: AccumulatorArgs) -> bool {
        true
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(ManyGroups { levels: levels(&args)?, groups: Vec::new(), held: 0 }))
    }
}

/// The levels, which must be a constant list of numbers from 0 to 1.
fn levels(args: &AccumulatorArgs) -> Result<Vec<f64>> {
    let Some(expr) = args.exprs.get(1) else {
        return internal_err!("percentiles without levels");
    };
    let empty = RecordBatch::new_empty(Arc::new(args.schema.clone()));
    let Ok(ColumnarValue::Scalar(ScalarValue::List(list))) = expr.evaluate(&empty) else {
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
    Ok(values.values().to_vec())
}

/// The value at `level` of an ascending, non-empty slice.
fn at(sorted: &[f64], level: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let rank = last as f64 * level;
    let below = rank.floor();
    let low = *sorted.get(below as usize)?;
    let high = *sorted.get(rank.ceil() as usize)?;
    // A constant stays itself: low + 0 * weight.
    Some(low + (high - low) * (rank - below))
}

fn append(builder: &mut ListBuilder<Float64Builder>, values: &mut [f64], levels: &[f64]) {
    if values.is_empty() {
        builder.append_null();
        return;
    }
    values.sort_unstable_by(f64::total_cmp);
    for &level in levels {
        builder.values().append_option(at(values, level));
    }
    builder.append(true);
}

fn known(array: &ArrayRef) -> Result<&Float64Array> {
    match array.as_primitive_opt::<Float64Type>() {
        Some(values) => Ok(values),
        None => exec_err!("percentiles wants doubles, not {}", array.data_type()),
    }
}

/// One group: a query without GROUP BY, or a window.
#[derive(Debug)]
struct OneGroup {
    levels: Vec<f64>,
    values: Vec<f64>,
}

impl Accumulator for OneGroup {
    fn update_batch(&mut self, arrays: &[ArrayRef]) -> Result<()> {
        self.values.extend(known(&arrays[0])?.iter().flatten().filter(|v| !v.is_nan()));
        Ok(())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        for values in states[0].as_list::<i32>().iter().flatten() {
            self.update_batch(&[values])?;
        }
        Ok(())
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let values = Float64Array::from(std::mem::take(&mut self.values));
        let list = ListArray::new(item(), OffsetBuffer::from_lengths([values.len()]), Arc::new(values), None);
        Ok(vec![ScalarValue::List(Arc::new(list))])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let mut builder = ListBuilder::new(Float64Builder::new()).with_field(item());
        append(&mut builder, &mut self.values, &self.levels);
        Ok(ScalarValue::List(Arc::new(builder.finish())))
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.values.capacity() * size_of::<f64>()
    }
}

/// Many groups at once: a query with GROUP BY.
#[derive(Debug)]
struct ManyGroups {
    levels: Vec<f64>,
    groups: Vec<Vec<f64>>,
    /// Values held, so that the size is known without a walk over the groups.
    held: usize,
}

impl ManyGroups {
    fn take(&mut self, emit_to: EmitTo) -> Vec<Vec<f64>> {
        let groups = emit_to.take_needed(&mut self.groups);
        self.held -= groups.iter().map(Vec::len).sum::<usize>();
        groups
    }

    fn grow(&mut self, groups: usize) {
        if self.groups.len() < groups {
            self.groups.resize_with(groups, Vec::new);
        }
    }
}

impl GroupsAccumulator for ManyGroups {
    fn update_batch(
        &mut self,
        arrays: &[ArrayRef],
        group_indices: &[usize],
        filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.grow(total_num_groups);
        let values = known(&arrays[0])?;
        for (row, &group) in group_indices.iter().enumerate() {
            let wanted = filter.is_none_or(|f| f.is_valid(row) && f.value(row));
            if wanted && values.is_valid(row) && !values.value(row).is_nan() {
                self.groups[group].push(values.value(row));
                self.held += 1;
            }
        }
        Ok(())
    }

    fn merge_batch(
        &mut self,
        states: &[ArrayRef],
        group_indices: &[usize],
        total_num_groups: usize,
    ) -> Result<()> {
        self.grow(total_num_groups);
        let lists = states[0].as_list::<i32>();
        for (row, &group) in group_indices.iter().enumerate() {
            if lists.is_valid(row) {
                let values = lists.value(row);
                let values = known(&values)?.values();
                self.groups[group].extend_from_slice(values);
                self.held += values.len();
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let mut builder = ListBuilder::new(Float64Builder::new()).with_field(item());
        for mut values in self.take(emit_to) {
            append(&mut builder, &mut values, &self.levels);
        }
        Ok(Arc::new(builder.finish()))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let groups = self.take(emit_to);
        let offsets = OffsetBuffer::from_lengths(groups.iter().map(Vec::len));
        let values: Vec<f64> = groups.into_iter().flatten().collect();
        let list = ListArray::try_new(item(), offsets, Arc::new(Float64Array::from(values)), None)?;
        Ok(vec![Arc::new(list)])
    }

    fn convert_to_state(&self, arrays: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let values = known(&arrays[0])?;
        let wanted: NullBuffer = (0..values.len())
            .map(|row| {
                values.is_valid(row)
                    && !values.value(row).is_nan()
                    && filter.is_none_or(|f| f.is_valid(row) && f.value(row))
            })
            .collect();
        let plain = Float64Array::new(values.values().clone(), None);
        let list = ListArray::try_new(
            item(),
            OffsetBuffer::from_lengths(std::iter::repeat_n(1, values.len())),
            Arc::new(plain),
            Some(wanted),
        )?;
        Ok(vec![Arc::new(list)])
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.groups.capacity() * size_of::<Vec<f64>>() + 2 * self.held * size_of::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::at;

    fn sorted(mut values: Vec<f64>) -> Vec<f64> {
        values.sort_unstable_by(f64::total_cmp);
        values
    }

    /// T11: ten values with known linear-interpolation answers.
    #[test]
    fn ten_values() {
        let values = sorted(vec![-85.0, -72.0, -56.0, -48.0, -43.0, -25.0, -12.0, -5.0, 45.0, 83.0]);
        assert_eq!(at(&values, 0.5), Some(-34.0));
        assert!((at(&values, 0.95).unwrap_or_default() - 65.9).abs() < 1e-12);
    }

    /// The case in which the engine's own function is off in the sixth digit.
    #[test]
    fn interpolation_weight_is_not_cut() {
        assert!((at(&[1.0, 2.0, 4.0, 7.0], 0.95).unwrap_or_default() - 6.55).abs() < 1e-15);
    }

    /// T12: a constant is its own percentile, to the last bit.
    #[test]
    fn constant() {
        assert_eq!(at(&[0.1; 1000], 0.5), Some(0.1));
        assert_eq!(at(&[0.1; 1000], 0.95), Some(0.1));
    }

    /// No values, no percentile.
    #[test]
    fn nothing() {
        assert_eq!(at(&[], 0.5), None);
    }
}
