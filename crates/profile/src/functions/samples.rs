//! Samples by group: the state that `percentiles` and `profile` share.
//!
//! A function has one or more columns of numbers and perhaps a column of weights; each group holds a
//! [`Sample`] a column. Between phases a sample travels as two lists, its values and its weights, the
//! latter null while all weights are 1. What becomes of the samples is the function's own ([`Finish`]).

use std::{fmt::Debug, mem::size_of, sync::Arc};

use arrow::{
    array::{Array, ArrayRef, AsArray, BooleanArray, Float64Array, ListArray},
    buffer::{NullBuffer, OffsetBuffer},
    datatypes::{DataType, Field, FieldRef, Float64Type},
};
use datafusion::{
    common::{Result, exec_err},
    logical_expr::{EmitTo, GroupsAccumulator, utils::format_state_name},
};

use super::{one_group::row_by_row, sample::Sample};

/// What a function makes of samples.
pub(super) trait Finish: Clone + Debug + Send + Sync + 'static {
    /// Its columns of numbers, and of weights where it has one, all doubles.
    fn columns(&self, arguments: &[ArrayRef]) -> Result<(Vec<ArrayRef>, Option<ArrayRef>)>;

    /// How many columns of numbers it has.
    fn width(&self) -> usize;

    /// Its answer, one value a group; `samples` are the columns of the first group, then of the second, ...
    fn finish(&self, samples: &mut [Sample]) -> Result<ArrayRef>;
}

/// The item of a list of doubles.
pub(super) fn item() -> FieldRef {
    Arc::new(Field::new_list_field(DataType::Float64, true))
}

/// The fields in which the state of a function with `width` columns travels.
pub(super) fn state_fields(name: &str, width: usize) -> Vec<FieldRef> {
    let list = |what: String| {
        Arc::new(Field::new(format_state_name(name, &what), DataType::List(item()), true)) as FieldRef
    };
    (0..width).flat_map(|at| [list(format!("values_{at}")), list(format!("weights_{at}"))]).collect()
}

/// Many groups at once: a query with GROUP BY.
#[derive(Debug)]
pub(super) struct Samples<F> {
    function: F,
    samples: Vec<Sample>,
    /// Values held, so that the size is known without a walk over the groups.
    held: usize,
}

impl<F: Finish> Samples<F> {
    pub(super) fn new(function: F) -> Self {
        Self { function, samples: Vec::new(), held: 0 }
    }

    fn take(&mut self, emit_to: EmitTo) -> Vec<Sample> {
        let width = self.function.width();
        let emit_to = match emit_to {
            EmitTo::All => EmitTo::All,
            EmitTo::First(groups) => EmitTo::First(groups * width),
        };
        let samples = emit_to.take_needed(&mut self.samples);
        self.held -= samples.iter().map(Sample::len).sum::<usize>();
        samples
    }

    fn grow(&mut self, groups: usize) {
        let wanted = groups * self.function.width();
        if self.samples.len() < wanted {
            self.samples.resize_with(wanted, Sample::default);
        }
    }
}

fn doubles(array: &ArrayRef) -> Result<&Float64Array> {
    match array.as_primitive_opt::<Float64Type>() {
        Some(values) => Ok(values),
        None => exec_err!("doubles wanted, not {}", array.data_type()),
    }
}

impl<F: Finish> GroupsAccumulator for Samples<F> {
    fn update_batch(
        &mut self,
        arguments: &[ArrayRef],
        group_indices: &[usize],
        filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.grow(total_num_groups);
        let width = self.function.width();
        let (columns, weights) = self.function.columns(arguments)?;
        let weights = weights.as_ref().map(doubles).transpose()?;
        // The usual case: nothing is sampled, and no weight need be looked at.
        let weights = weights.filter(|weights| !weights.iter().all(|weight| weight.is_none_or(|w| w == 1.0)));
        for (at, column) in columns.iter().enumerate() {
            let values = doubles(column)?;
            if values.null_count() == values.len() {
                continue;
            }
            for (row, &group) in group_indices.iter().enumerate() {
                if values.is_null(row) || filter.is_some_and(|f| f.is_null(row) || !f.value(row)) {
                    continue;
                }
                let weight = weights.map_or(1.0, |w| if w.is_valid(row) { w.value(row) } else { 1.0 });
                let sample = &mut self.samples[group * width + at];
                let before = sample.len();
                sample.push(values.value(row), weight);
                self.held += sample.len() - before;
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
        let width = self.function.width();
        for (at, state) in states.chunks_exact(2).enumerate() {
            let (values, weights) = (state[0].as_list::<i32>(), state[1].as_list::<i32>());
            for (row, &group) in group_indices.iter().enumerate() {
                if values.is_null(row) {
                    continue;
                }
                let values = values.value(row);
                let weights = weights.is_valid(row).then(|| weights.value(row));
                let weights = weights.as_ref().map(doubles).transpose()?;
                let values = doubles(&values)?.values();
                let sample = &mut self.samples[group * width + at];
                sample.extend(values, weights.map_or(&[], |weights| weights.values()));
                self.held += values.len();
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let mut samples = self.take(emit_to);
        self.function.finish(&mut samples)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        let samples = self.take(emit_to);
        let width = self.function.width();
        let mut states: Vec<ArrayRef> = Vec::with_capacity(2 * width);
        for at in 0..width {
            let column = || samples.iter().skip(at).step_by(width);
            states.push(lists(column().map(Sample::values), None)?);
            let weighted: NullBuffer = column().map(|sample| !sample.weights().is_empty()).collect();
            states.push(lists(column().map(Sample::weights), Some(weighted))?);
        }
        Ok(states)
    }

    fn convert_to_state(
        &self,
        arguments: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        row_by_row(Self::new(self.function.clone()), arguments, filter)
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.samples.capacity() * size_of::<Sample>() + self.held * size_of::<f64>()
    }
}

fn lists<'a>(slices: impl Iterator<Item = &'a [f64]> + Clone, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let offsets = OffsetBuffer::from_lengths(slices.clone().map(<[f64]>::len));
    let values: Vec<f64> = slices.flatten().copied().collect();
    Ok(Arc::new(ListArray::try_new(item(), offsets, Arc::new(Float64Array::from(values)), nulls)?))
}
