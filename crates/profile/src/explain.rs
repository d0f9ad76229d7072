//! What assembly takes stored spans for, outside any round of jobs: for `plimsoll explain`.
//!
//! The rules that tell runs apart apply, as in a round; names that don't bear on the election are left
//! out. Invariant: one verdict for each span that is unique by its ids.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, AsArray, RecordBatch, StringArray, StructArray, new_null_array},
    datatypes::{DataType, Field},
};
use plimsoll_assembly::naming::Names;

use crate::{
    error::ProfileError,
    functions::{SpanColumns, attribute},
    policy::Policy,
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
    let run_key: ArrayRef = Arc::new(run_keys(policy, batch));
    let nothing = new_null_array(&DataType::Utf8, batch.num_rows());
    let schema = batch.schema();
    let columns = schema.fields().iter().cloned().zip(batch.columns().iter().cloned());
    let added = [("run_key", run_key), ("workflow_by_rule", Arc::clone(&nothing)), ("pool", nothing)];
    let mut all: Vec<(Arc<Field>, ArrayRef)> =
        columns.filter(|(field, _)| field.name() != "run_key").collect();
    all.extend(added.map(|(name, array)| (Arc::new(Field::new(name, DataType::Utf8, true)), array)));
    Ok(StructArray::from(all))
}

fn run_keys(policy: &Policy, batch: &RecordBatch) -> StringArray {
    let column = |name| batch.column_by_name(name).and_then(|array| array.as_string_opt::<i32>());
    let [service, name, scope, session, run, link] =
        ["service", "name", "scope", "session_id", "run_key", "link_trace_id"].map(column);
    let attributes = batch.column_by_name("attributes").and_then(|array| array.as_map_opt());
    let keys = (0..batch.num_rows()).map(|row| {
        let text = |array: Option<&StringArray>| {
            array.filter(|array| array.is_valid(row)).map(|array| array.value(row).to_owned())
        };
        let [service, name, scope, session, run, link] = [service, name, scope, session, run, link].map(text);
        let lookup = |key: &str| attributes.and_then(|map| attribute(map, row, key));
        let names = Names {
            service: service.as_deref(),
            name: name.as_deref(),
            scope: scope.as_deref(),
            session_id: session.as_deref(),
            run_key: run.as_deref(),
            link: link.as_deref(),
            attribute: Some(&lookup),
            ..Names::default()
        };
        policy.naming.run_key(&names).map(|key| key.into_owned())
    });
    keys.collect()
}
