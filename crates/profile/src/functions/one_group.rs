//! Aggregates by way of those that work by groups: over all rows (a query without GROUP BY, or a window), and
//! over each row by itself (the state of rows that an engine hands on without aggregating them).

use arrow::array::{Array, ArrayRef, BooleanArray};
use datafusion::{
    common::{Result, ScalarValue},
    logical_expr::{Accumulator, EmitTo, GroupsAccumulator},
};

/// All rows as one group. Where there are no rows the answer is null.
#[derive(Debug)]
pub(super) struct OneGroup<G>(pub(super) G);

impl<G: GroupsAccumulator + std::fmt::Debug + Sync> Accumulator for OneGroup<G> {
    fn update_batch(&mut self, arguments: &[ArrayRef]) -> Result<()> {
        let rows = arguments.first().map_or(0, Array::len);
        self.0.update_batch(arguments, &vec![0; rows], None, 1)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let rows = states.first().map_or(0, Array::len);
        self.0.merge_batch(states, &vec![0; rows], 1)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.0.state(EmitTo::All)?.iter().map(first).collect()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        first(&self.0.evaluate(EmitTo::All)?)
    }

    fn size(&self) -> usize {
        self.0.size()
    }
}

/// The state of each row by itself; `each` is an accumulator without groups yet.
pub(super) fn row_by_row(
    mut each: impl GroupsAccumulator,
    arguments: &[ArrayRef],
    filter: Option<&BooleanArray>,
) -> Result<Vec<ArrayRef>> {
    let rows: Vec<usize> = (0..arguments.first().map_or(0, Array::len)).collect();
    each.update_batch(arguments, &rows, filter, rows.len())?;
    each.state(EmitTo::All)
}

fn first(array: &ArrayRef) -> Result<ScalarValue> {
    if array.is_empty() {
        ScalarValue::try_from(array.data_type())
    } else {
        ScalarValue::try_from_array(array, 0)
    }
}
