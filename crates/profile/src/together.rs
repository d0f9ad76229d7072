//! Which traces a round must read together, and which runs it makes anew.
//!
//! Mostly each new trace by itself: it is its run. Where spans have run keys, traces that share one are
//! read together, with all that earlier rounds put into the same runs (`runs.trace_ids` says which),
//! since a run is made from all of its spans or not at all.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use datafusion::error::DataFusionError;

use crate::{error::ProfileError, session::Reader};

/// Traces in groups, and the runs that they may make or have made.
#[derive(Debug)]
pub(crate) struct Together {
    /// Trace and the group that it is read in; none where every trace is read by itself and is a run, so
    /// that a great many need not be held more than once.
    traces: Option<Vec<(String, String)>>,
    /// Ids of runs whose rows are replaced.
    runs: BTreeSet<String>,
}

impl Together {
    /// Finds what belongs with new spans and the given runs. `new_spans` and `known_runs` are
    /// registered.
    pub(crate) async fn find(reader: &Reader, runs: Vec<String>) -> Result<Self, ProfileError> {
        // A trace stands once for each of its keys, and once for spans without one.
        let new = reader
            .query(
                "SELECT DISTINCT trace_id,
                   run_key(service, name, scope, session_id, run_key, link_trace_id, attributes) AS key
                 FROM new_spans",
            )
            .await?;
        let known = reader
            .query("SELECT unnest(trace_ids) AS trace_id, run_id FROM known_runs WHERE cardinality(trace_ids) > 0")
            .await?;
        let pairs: Vec<(String, String)> = pairs(&new).chain(pairs(&known)).collect();
        Ok(Self::grouped(texts(&new), runs, &pairs))
    }

    /// Groups by what is shared. A run is also the trace of its id, if there is such a trace.
    fn grouped(traces: Vec<String>, runs: Vec<String>, pairs: &[(String, String)]) -> Self {
        if pairs.is_empty() {
            return Self { traces: None, runs: traces.into_iter().chain(runs).collect() };
        }
        let (mut grouped, mut touched) = (Vec::with_capacity(traces.len()), BTreeSet::new());
        let mut links: HashMap<&str, Vec<&str>> = HashMap::new();
        for (trace, run) in pairs {
            links.entry(trace).or_default().push(run);
            links.entry(run).or_default().push(trace);
        }
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        for start in traces.iter().chain(&runs) {
            if !seen.insert(start) {
                continue;
            }
            let (mut group, mut waiting) = (Vec::new(), vec![start.as_str()]);
            while let Some(id) = waiting.pop() {
                group.push(id);
                let next = links.get(id).into_iter().flatten().copied();
                waiting.extend(next.filter(|id| seen.insert(id)));
            }
            // An id may be a trace's, a run's or both; those that are no trace match no span.
            for id in group {
                grouped.push((id.to_owned(), start.clone()));
                touched.insert(id.to_owned());
            }
        }
        Self { traces: Some(grouped), runs: touched }
    }

    /// Leaves runs as they are, and by themselves unread.
    pub(crate) fn leave(&mut self, run: impl Fn(&str) -> bool) {
        self.runs.retain(|id| !run(id));
    }

    /// Whether there is nothing to read.
    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Groups of traces: without keys as many as runs.
    pub(crate) fn groups(&self) -> u64 {
        match &self.traces {
            Some(traces) => traces.iter().map(|(_, group)| group).collect::<BTreeSet<_>>().len() as u64,
            None => self.runs.len() as u64,
        }
    }

    /// Registers `touched_traces` (a trace and its group) and `touched_runs`.
    pub(crate) fn register(&self, reader: &Reader) -> Result<(), ProfileError> {
        let runs: ArrayRef = Arc::new(StringArray::from_iter_values(&self.runs));
        let (trace, group): (ArrayRef, ArrayRef) = match &self.traces {
            Some(traces) => (
                Arc::new(StringArray::from_iter_values(traces.iter().map(|(trace, _)| trace))),
                Arc::new(StringArray::from_iter_values(traces.iter().map(|(_, group)| group))),
            ),
            None => (Arc::clone(&runs), Arc::clone(&runs)),
        };
        let traces = BTreeMap::from([("trace_id", trace), ("group_id", group)]);
        reader.register_rows("touched_traces", batch(traces)?)?;
        reader.register_rows("touched_runs", batch(BTreeMap::from([("run_id", runs)]))?)
    }
}

fn batch(columns: BTreeMap<&str, ArrayRef>) -> Result<RecordBatch, ProfileError> {
    let fields: Vec<Field> = columns.keys().map(|name| Field::new(*name, DataType::Utf8, false)).collect();
    let arrays = columns.into_values().collect();
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map_err(DataFusionError::from)?)
}

/// The texts of a query's first column.
pub(crate) fn texts(batches: &[RecordBatch]) -> Vec<String> {
    batches.iter().flat_map(|batch| column(batch, 0)).flatten().collect()
}

/// Both texts of the rows that have both.
fn pairs(batches: &[RecordBatch]) -> impl Iterator<Item = (String, String)> {
    let both = batches.iter().flat_map(|batch| column(batch, 0).zip(column(batch, 1)));
    both.filter_map(|(one, other)| Some((one?, other.filter(|text| !text.is_empty())?)))
}

fn column(batch: &RecordBatch, at: usize) -> impl Iterator<Item = Option<String>> {
    let array = batch.column(at).as_string_opt::<i32>();
    array.into_iter().flat_map(|array| array.iter().map(|text| text.map(str::to_owned)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(ids: &[&str]) -> Vec<String> {
        ids.iter().map(|id| (*id).to_owned()).collect()
    }

    /// Without keys a trace is read by itself; with them all that shares a run, however indirectly.
    #[test]
    fn groups_by_what_is_shared() {
        let alone = Together::grouped(owned(&["a", "b"]), owned(&["b", "c"]), &[]);
        assert_eq!(alone.groups(), 3);
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        let pairs = [pair("a", "k"), pair("b", "k"), pair("b", "m"), pair("c", "m"), pair("z", "y")];
        let joined = Together::grouped(owned(&["a", "d"]), Vec::new(), &pairs);
        assert_eq!(joined.groups(), 2);
        assert_eq!(joined.runs, owned(&["a", "b", "c", "d", "k", "m"]).into_iter().collect());
    }
}
