//! What assembly takes stored spans for, outside any round of jobs: for `plimsoll explain`.
//!
//! The rules that tell runs apart apply, as in a round; names that don't bear on the election are left
//! out. Invariant: one verdict for each span that is unique by its ids.

use std::sync::Arc;

use crate::{
    error::ProfileError,
    functions::{RUN_KEY_COLUMNS, SpanColumns, run_keys},
    policy::Policy,
};
use arrow::{
    array::{ArrayRef, RecordBatch, StructArray, new_null_array},
    datatypes::{DataType, Field},
};

/// What became of one span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Run that it belongs to.
    pub run_id: String,
    /// Trace.
    pub trace_id: String,
    /// Span.
    pub span_id: String,
    /// How far below the run's outermost spans it stands.
    pub depth: usize,
    /// Kind as counted.
    pub kind: &'static str,
    /// What it counts as, in words.
    pub role: String,
}

/// Tells what each span counts as, run by run, outer spans first. The batches are rows of `spans`, all
/// that was received for their runs.
///
/// # Errors
/// A column of `spans` is missing or of another type.
pub fn explain(policy: &Policy, spans: &[RecordBatch]) -> Result<Vec<Verdict>, ProfileError> {
    let batches = spans.iter().map(|batch| with_names(policy, batch)).collect::<Result<Vec<_>, _>>()?;
    let columns = batches.iter().map(SpanColumns::of).collect::<Result<Vec<_>, _>>()?;
    let rows = columns.iter().zip(spans);
    let spans =
        rows.flat_map(|(columns, batch)| (0..batch.num_rows()).map(|row| columns.span(row))).collect();
    let verdicts = plimsoll_assembly::explain(spans).into_iter().map(|verdict| Verdict {
        run_id: verdict.run_id.to_owned(),
        trace_id: verdict.trace_id.to_owned(),
        span_id: verdict.span_id.to_owned(),
        depth: verdict.depth,
        kind: verdict.kind.as_str(),
        role: verdict.role.to_string(),
    });
    Ok(verdicts.collect())
}

/// The rows with what match rules say added: the run, and nothing for the names that only rows carry.
fn with_names(policy: &Policy, batch: &RecordBatch) -> Result<StructArray, ProfileError> {
    let nothing = new_null_array(&DataType::Utf8, batch.num_rows());
    let column = |name| batch.column_by_name(name).unwrap_or(&nothing);
    let arguments: Vec<ArrayRef> =
        RUN_KEY_COLUMNS.iter().chain(&["attributes"]).map(|name| Arc::clone(column(name))).collect();
    let run_key: ArrayRef = Arc::new(run_keys(policy, &arguments, batch.num_rows())?);
    let schema = batch.schema();
    let columns = schema.fields().iter().cloned().zip(batch.columns().iter().cloned());
    let added =
        [("run_key", run_key), ("workflow_by_rule", Arc::clone(&nothing)), ("pool", Arc::clone(&nothing))];
    let mut all: Vec<(Arc<Field>, ArrayRef)> =
        columns.filter(|(field, _)| field.name() != "run_key").collect();
    all.extend(added.map(|(name, array)| (Arc::new(Field::new(name, DataType::Utf8, true)), array)));
    Ok(StructArray::from(all))
}
