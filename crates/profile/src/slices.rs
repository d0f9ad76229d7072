//! A round's runs in slices, each small enough to be made in memory.
//!
//! Runs are dealt in the order in which they start, so that a slice reads the files of a stretch of time,
//! and what it makes goes into few partitions. What must be read together (a group of traces) stays
//! together. Invariant: every touched trace is in exactly one slice.

use std::collections::HashMap;

use arrow::{
    array::{Array, AsArray, RecordBatch, StringArray, TimestampMicrosecondArray, UInt32Array},
    compute::{concat_batches, take_record_batch},
    datatypes::{Int64Type, TimestampMicrosecondType},
};
use datafusion::{common::ScalarValue, error::DataFusionError};

use crate::{error::ProfileError, session::Reader, touched::Parameters};

/// Some of the touched traces.
#[derive(Debug)]
pub(crate) struct Slice {
    /// `trace_id` and `group_id`; none for all touched traces.
    traces: Option<RecordBatch>,
    /// Least and greatest start of their spans, in UTC microseconds.
    started: (i64, i64),
}

impl Slice {
    /// Deals the touched traces, `most` spans or a little more to a slice. `touched_traces` is registered;
    /// `stored` spans may be theirs.
    ///
    /// # Errors
    /// Spans that cannot be read.
    pub(crate) async fn deal(
        reader: &Reader,
        stored: u64,
        most: u64,
        parameters: &Parameters,
    ) -> Result<Vec<Self>, ProfileError> {
        if stored <= most {
            return Ok(vec![Self { traces: None, started: (i64::MIN, i64::MAX) }]);
        }
        let sql = "SELECT t.trace_id, t.group_id, min(s.start_time) AS first, max(s.start_time) AS last,
              count(*) AS spans
            FROM spans s JOIN touched_traces t ON t.trace_id = s.trace_id
            WHERE s.received_day >= $spans_from_day
            GROUP BY t.trace_id, t.group_id";
        let found = reader.plan_with("slices", sql, parameters).await?.collect().await?;
        match found.first() {
            Some(batch) => {
                let all = concat_batches(&batch.schema(), &found).map_err(DataFusionError::from)?;
                Traces::of(&all).map_or_else(|| Ok(Vec::new()), |traces| traces.slices(&all, most))
            }
            None => Ok(Vec::new()),
        }
    }

    /// Takes the place of `touched_traces`, and says what the job needs to know beside.
    pub(crate) fn register(&self, reader: &Reader, all: &Parameters) -> Result<Parameters, ProfileError> {
        if let Some(traces) = &self.traces {
            reader.register_rows("touched_traces", traces.clone())?;
        }
        let at = |micros: i64| ScalarValue::TimestampMicrosecond(Some(micros), Some("UTC".into()));
        let mut parameters = all.clone();
        parameters.insert("spans_from_time", at(self.started.0));
        parameters.insert("spans_to_time", at(self.started.1));
        Ok(parameters)
    }
}

/// Every touched trace that has spans.
struct Traces<'a> {
    trace: &'a StringArray,
    group: &'a StringArray,
    first: &'a TimestampMicrosecondArray,
    last: &'a TimestampMicrosecondArray,
    spans: &'a arrow::array::Int64Array,
}

impl<'a> Traces<'a> {
    fn of(batch: &'a RecordBatch) -> Option<Self> {
        Some(Self {
            trace: batch.column(0).as_string_opt::<i32>()?,
            group: batch.column(1).as_string_opt::<i32>()?,
            first: batch.column(2).as_primitive_opt::<TimestampMicrosecondType>()?,
            last: batch.column(3).as_primitive_opt::<TimestampMicrosecondType>()?,
            spans: batch.column(4).as_primitive_opt::<Int64Type>()?,
        })
    }

    /// Rows by the start of their group, a group's together.
    fn in_order(&self) -> Vec<u32> {
        let mut starts: HashMap<&str, i64> = HashMap::with_capacity(self.group.len());
        for row in 0..self.group.len() {
            let first = self.first.value(row);
            starts
                .entry(self.group.value(row))
                .and_modify(|start| *start = first.min(*start))
                .or_insert(first);
        }
        let key = |row: usize| {
            let group = self.group.value(row);
            (starts.get(group).copied().unwrap_or_default(), group, self.trace.value(row))
        };
        let mut order: Vec<u32> = (0..).take(self.group.len()).collect();
        order.sort_unstable_by(|a, b| key(*a as usize).cmp(&key(*b as usize)));
        order
    }

    fn slices(&self, batch: &RecordBatch, most: u64) -> Result<Vec<Slice>, ProfileError> {
        let order = self.in_order();
        let traces = batch.project(&[0, 1]).map_err(DataFusionError::from)?;
        let (mut slices, mut from, mut held) = (Vec::new(), 0, 0);
        for (at, row) in order.iter().map(|row| *row as usize).enumerate() {
            held += self.spans.value(row).unsigned_abs();
            let next = order.get(at + 1).map(|next| self.group.value(*next as usize));
            if next.is_none() || (held >= most && next != Some(self.group.value(row))) {
                let rows = &order[from..=at];
                let least = rows.iter().map(|row| self.first.value(*row as usize)).min();
                let most = rows.iter().map(|row| self.last.value(*row as usize)).max();
                let taken = take_record_batch(&traces, &UInt32Array::from(rows.to_vec()));
                slices.push(Slice {
                    traces: Some(taken.map_err(DataFusionError::from)?),
                    started: (least.unwrap_or(i64::MIN), most.unwrap_or(i64::MAX)),
                });
                (from, held) = (at + 1, 0);
            }
        }
        Ok(slices)
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, sync::Arc};

    use arrow::array::{ArrayRef, Int64Array};

    use super::*;

    fn traces(rows: &[(&str, &str, i64, i64, i64)]) -> Result<RecordBatch, arrow::error::ArrowError> {
        let column = |at: fn(&(&str, &str, i64, i64, i64)) -> i64| rows.iter().map(at).collect::<Vec<_>>();
        let columns: BTreeMap<&str, ArrayRef> = BTreeMap::from([
            ("0", Arc::new(rows.iter().map(|row| Some(row.0)).collect::<StringArray>()) as ArrayRef),
            ("1", Arc::new(rows.iter().map(|row| Some(row.1)).collect::<StringArray>())),
            ("2", Arc::new(TimestampMicrosecondArray::from(column(|row| row.2)))),
            ("3", Arc::new(TimestampMicrosecondArray::from(column(|row| row.3)))),
            ("4", Arc::new(Int64Array::from(column(|row| row.4)))),
        ]);
        RecordBatch::try_from_iter(columns)
    }

    /// A slice is a stretch of time and holds whole groups, however far apart their traces lie.
    #[test]
    fn groups_stay_together() -> Result<(), Box<dyn std::error::Error>> {
        let batch = traces(&[
            ("late", "late", 900, 950, 3),
            ("a", "g", 100, 200, 8),
            ("b", "g", 800, 990, 1),
            ("early", "early", 50, 60, 2),
        ])?;
        let slices = Traces::of(&batch).ok_or("columns")?.slices(&batch, 10)?;
        let ids = |slice: &Slice| {
            let column = slice.traces.as_ref().map(|batch| batch.column(0).as_string::<i32>().clone());
            column.iter().flatten().flatten().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(slices.iter().map(ids).collect::<Vec<_>>(), [vec!["early", "a", "b"], vec!["late"]]);
        assert_eq!(slices.iter().map(|slice| slice.started).collect::<Vec<_>>(), [(50, 990), (900, 950)]);
        Ok(())
    }
}
