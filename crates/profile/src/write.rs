//! How a job's rows get into its table.
//!
//! Invariant: a commit removes exactly the rows that the new ones take the place of, and fails where
//! another round has rewritten the table since.

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::Int64Type;
use datafusion::prelude::DataFrame;
use futures::TryStreamExt;
use plimsoll_lake::{DataFile, Order, Snapshot, Table};

use crate::{
    error::ProfileError,
    jobs::{Job, Replaces},
    session::Reader,
    touched::Touched,
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

/// Writes the rows of a job's parts, one part after the other.
///
/// # Errors
/// SQL that fails, or rows that do not fit the table.
#[tracing::instrument(name = "job", skip_all, fields(file = %job.file))]
pub(crate) async fn write(job: &Job, table: &Table, parts: Vec<DataFrame>) -> Result<Made, ProfileError> {
    let failed = || ProfileError::query(format!("jobs/{}", job.file));
    let (mut made, mut waiting, mut held) = (Made::default(), Vec::new(), 0);
    for part in parts {
        let mut stream = part.execute_stream().await.map_err(failed())?;
        while let Some(batch) = stream.try_next().await.map_err(failed())? {
            held += batch.num_rows();
            waiting.push(checked(job, table, batch)?);
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
}

impl Writer<'_> {
    /// Commits what the job wrote in place of the touched rows, or of all.
    ///
    /// # Errors
    /// [`ProfileError::Overtaken`] where another round has rewritten the table since `base`.
    pub(crate) async fn replace(
        &self,
        base: &Snapshot,
        made: Made,
        all: bool,
    ) -> Result<Written, ProfileError> {
        let Made { files: mut add, rows } = made;
        let mut remove = Vec::new();
        for file in base.files() {
            let gone = all
                || match self.job.replaces {
                    Replaces::TouchedDays => self.touched.is_of_touched_day(file),
                    Replaces::TouchedWindows => self.touched.is_of_touched_window(file),
                    Replaces::TouchedRuns => {
                        self.touched.may_hold_stale_runs(file) && self.keep_others(file, &mut add).await?
                    }
                    Replaces::ForTheRound | Replaces::View => false,
                };
            if gone {
                remove.push(file.clone());
            }
        }
        if !(add.is_empty() && remove.is_empty()) {
            self.table.rewrite(base, add, remove, &[], true).await.map_err(overtaken)?;
        }
        Ok(Written { snapshot: self.table.snapshot().await?, rows })
    }

    /// Writes the rows of untouched runs anew if the file holds rows of touched ones; says whether it
    /// does.
    async fn keep_others(&self, file: &DataFile, add: &mut Vec<DataFile>) -> Result<bool, ProfileError> {
        self.reader.register_files("stale", self.table, vec![file.clone()])?;
        let count = self
            .reader
            .query("SELECT count(*) FROM stale WHERE run_id IN (SELECT run_id FROM touched_runs)")
            .await?;
        let touched = count.first().map_or(0, |batch| batch.column(0).as_primitive::<Int64Type>().value(0));
        if touched == 0 {
            return Ok(false);
        }
        let others = self
            .reader
            .query("SELECT * FROM stale WHERE run_id NOT IN (SELECT run_id FROM touched_runs)")
            .await?;
        add.extend(self.table.write(&others, Order::Sorted).await?);
        Ok(true)
    }
}

fn overtaken(error: plimsoll_lake::Error) -> ProfileError {
    if error.is_conflict() { ProfileError::Overtaken } else { error.into() }
}
