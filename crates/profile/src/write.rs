//! How a job's rows get into its table.
//!
//! Invariant: a commit removes exactly the rows that the new ones take the place of, and fails where
//! another round has rewritten the table since. Rows that rest on expired ones are neither.

use std::{collections::HashSet, sync::Arc};

use arrow::array::{Array, AsArray, BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::datatypes::Date32Type;
use arrow::error::ArrowError;
use datafusion::prelude::DataFrame;
use futures::TryStreamExt;
use plimsoll_lake::{DataFile, Order, Snapshot, Table};

use crate::{
    error::ProfileError,
    jobs::{Job, Replaces},
    session::Reader,
    touched::{Touched, start_day},
};

/// Rows gathered before they are written, so that memory stays bounded.
const ROWS_PER_WRITE: usize = 1 << 19;

/// Files that a job wrote, not yet visible.
#[derive(Debug, Clone, Default)]
pub(crate) struct Made {
    files: Vec<DataFile>,
    rows: u64,
}

impl Made {
    /// Adds what another part of the job wrote.
    pub(crate) fn add(&mut self, other: Self) {
        self.files.extend(other.files);
        self.rows += other.rows;
    }
}

/// What a job may not make, because what it rests on has expired.
#[derive(Debug, Clone)]
pub(crate) struct Withheld {
    /// Runs that stand as they are or not at all.
    pub(crate) runs: Arc<HashSet<String>>,
    /// First day on which rows may start; none where they may on any.
    pub(crate) before: Option<i32>,
}

/// Writes the rows of a job's parts, one part after the other.
///
/// # Errors
/// SQL that fails, or rows that do not fit the table.
#[tracing::instrument(name = "job", skip_all, fields(file = %job.file))]
pub(crate) async fn write(
    job: &Job,
    table: &Table,
    parts: Vec<DataFrame>,
    withheld: &Withheld,
) -> Result<Made, ProfileError> {
    let failed = || ProfileError::query(format!("jobs/{}", job.file));
    let (mut made, mut waiting, mut held) = (Made::default(), Vec::new(), 0);
    for part in parts {
        let mut stream = part.execute_stream().await.map_err(failed())?;
        while let Some(batch) = stream.try_next().await.map_err(failed())? {
            let batch = withheld.from(checked(job, table, batch)?).map_err(|e| failed()(e.into()))?;
            held += batch.num_rows();
            waiting.push(batch);
            if held >= ROWS_PER_WRITE {
                made.rows += std::mem::take(&mut held) as u64;
                made.files.extend(table.write(&std::mem::take(&mut waiting), Order::Sorted).await?);
            }
        }
    }
    made.rows += held as u64;
    made.files.extend(table.write(&waiting, Order::Sorted).await?);
    Ok(made)
}

/// The batch, if it has just the columns of the table.
fn checked(job: &Job, table: &Table, batch: RecordBatch) -> Result<RecordBatch, ProfileError> {
    let schema = table.schema();
    let made = batch.schema();
    let missing = schema.columns.iter().find(|column| made.field_with_name(&column.name).is_err());
    let extra = made.fields().iter().find(|field| schema.column(field.name()).is_none());
    let problem = match (missing, extra) {
        (Some(column), _) => format!("it must select {} for table {}", column.name, schema.name),
        (_, Some(field)) => {
            format!("it selects {}, which table {} does not have", field.name(), schema.name)
        }
        (None, None) => return Ok(batch),
    };
    Err(ProfileError::Schema { job: job.file.clone(), problem })
}

impl Withheld {
    /// The rows that the job may make.
    fn from(&self, batch: RecordBatch) -> Result<RecordBatch, ArrowError> {
        let days = batch.column_by_name("start_day").and_then(|c| c.as_primitive_opt::<Date32Type>());
        let early = |row| match (self.before, days) {
            (Some(first), Some(days)) => days.is_valid(row) && days.value(row) < first,
            _ => false,
        };
        let runs = batch.column_by_name("run_id").and_then(|c| c.as_string_opt::<i32>());
        let unmade = |row| runs.is_some_and(|ids| ids.is_valid(row) && self.runs.contains(ids.value(row)));
        if self.before.is_none() && self.runs.is_empty() {
            return Ok(batch);
        }
        let made: BooleanArray = (0..batch.num_rows()).map(|row| Some(!early(row) && !unmade(row))).collect();
        filter_record_batch(&batch, &made)
    }
}

/// What a job did to its table.
pub(crate) struct Written {
    /// The table now.
    pub(crate) snapshot: Snapshot,
    /// Rows that the job made.
    pub(crate) rows: u64,
}

/// What a job may take the place of.
pub(crate) struct Writer<'a> {
    pub(crate) reader: &'a Reader,
    pub(crate) touched: &'a Touched,
    pub(crate) job: &'a Job,
    pub(crate) table: &'a Table,
    /// Whether everything is made anew.
    pub(crate) all: bool,
    /// Whether the job makes its rows of spans, so that those of expired ones are kept.
    pub(crate) of_spans: bool,
    /// First day on which its rows may start; those of days before stand.
    pub(crate) floor: Option<i32>,
}

impl Writer<'_> {
    /// Commits what the job wrote in place of the touched rows, or of all.
    ///
    /// # Errors
    /// [`ProfileError::Overtaken`] where another round has rewritten the table since `base`.
    pub(crate) async fn replace(&self, base: &Snapshot, made: Made) -> Result<Written, ProfileError> {
        let Made { files: mut add, rows } = made;
        let mut remove = Vec::new();
        for file in base.files() {
            if self.is_replaced(file, &mut add).await? {
                remove.push(file.clone());
            }
        }
        if add.is_empty() && remove.is_empty() {
            return Ok(Written { snapshot: base.clone(), rows });
        }
        let version = self.table.rewrite(base, add, remove, &[], true).await.map_err(overtaken)?;
        Ok(Written { snapshot: self.table.snapshot_at(version).await?, rows })
    }

    /// Whether a file goes; those of its rows that stay are written anew.
    async fn is_replaced(&self, file: &DataFile, add: &mut Vec<DataFile>) -> Result<bool, ProfileError> {
        if start_day(file).zip(self.floor).is_some_and(|(day, first)| day < first) {
            return Ok(false);
        }
        match self.job.replaces {
            Replaces::TouchedRuns if self.all => {
                if self.of_spans && self.touched.may_hold_kept_runs(file) {
                    self.keep(file, "LEFT SEMI JOIN kept_runs", add).await
                } else {
                    Ok(true)
                }
            }
            Replaces::TouchedRuns => Ok(self.touched.may_hold_stale_runs(file)
                && self.keep(file, "LEFT ANTI JOIN touched_runs", add).await?),
            Replaces::TouchedDays => Ok(self.all || self.touched.is_of_touched_day(file)),
            Replaces::TouchedWindows => Ok(self.all || self.touched.is_of_touched_window(file)),
            Replaces::ForTheRound | Replaces::View => Ok(false),
        }
    }

    /// Writes anew the rows of a file that stay by a join on run ids, unless all of them do; says whether
    /// any goes.
    async fn keep(&self, file: &DataFile, join: &str, add: &mut Vec<DataFile>) -> Result<bool, ProfileError> {
        self.reader.register_files("stale", self.table, vec![file.clone()])?;
        let rows = |what: &str| format!("SELECT {what} FROM stale s {join} r ON r.run_id = s.run_id");
        let stay = self.reader.count(&rows("count(*)")).await?;
        if stay == file.rows {
            return Ok(false);
        }
        if stay > 0 {
            let others = self.reader.query(&rows("s.*")).await?;
            add.extend(self.table.write(&others, Order::Sorted).await?);
        }
        Ok(true)
    }
}

fn overtaken(error: plimsoll_lake::Error) -> ProfileError {
    if error.is_conflict() { ProfileError::Overtaken } else { error.into() }
}
