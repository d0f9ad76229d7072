//! How a job's rows get into its table.
//!
//! Invariant: a commit removes exactly the rows that the new ones take the place of, and fails where
//! another round has rewritten the table since.

use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::Int64Type;
use datafusion::{
    config::TableParquetOptions,
    dataframe::DataFrameWriteOptions,
    prelude::{DataFrame, ParquetReadOptions},
};
use futures::TryStreamExt;
use plimsoll_lake::{DataFile, Order, Snapshot, Table};
use tempfile::TempDir;

use crate::{
    error::ProfileError,
    jobs::{Job, Replaces},
    session::Reader,
    touched::Touched,
};

/// Rows gathered before they are written, so that memory stays bounded.
const ROWS_PER_WRITE: usize = 1 << 20;

/// What a job did to its table.
pub(crate) struct Written {
    /// The table now.
    pub(crate) snapshot: Snapshot,
    /// Rows that the job made.
    pub(crate) rows: u64,
}

/// A job that makes a table.
pub(crate) struct Writer<'a> {
    pub(crate) reader: &'a Reader,
    pub(crate) touched: &'a Touched,
    pub(crate) job: &'a Job,
    pub(crate) table: &'a Table,
}

impl Writer<'_> {
    /// Writes the job's rows and commits them in place of the touched ones, or of all.
    #[tracing::instrument(name = "job", skip_all, fields(file = %self.job.file))]
    pub(crate) async fn replace(&self, frame: DataFrame, all: bool) -> Result<Written, ProfileError> {
        let base = self.table.snapshot().await?;
        let (mut add, rows) = self.write(frame).await?;
        let mut remove = Vec::new();
        for file in base.files() {
            let gone = all
                || match self.job.replaces {
                    Replaces::TouchedDays => self.touched.is_of_touched_day(file),
                    Replaces::TouchedWindows => self.touched.is_of_touched_window(file),
                    Replaces::TouchedRuns => {
                        self.touched.may_hold_stale_runs(file) && self.keep_others(file, &mut add).await?
                    }
                    Replaces::ForTheRound => false,
                };
            if gone {
                remove.push(file.clone());
            }
        }
        if !(add.is_empty() && remove.is_empty()) {
            self.table.rewrite(&base, add, remove, &[], true).await.map_err(overtaken)?;
        }
        Ok(Written { snapshot: self.table.snapshot().await?, rows })
    }

    async fn write(&self, frame: DataFrame) -> Result<(Vec<DataFile>, u64), ProfileError> {
        let failed = || ProfileError::query(format!("jobs/{}", self.job.file));
        let mut stream = frame.execute_stream().await.map_err(failed())?;
        let (mut files, mut waiting, mut held, mut rows) = (Vec::new(), Vec::new(), 0, 0);
        while let Some(batch) = stream.try_next().await.map_err(failed())? {
            held += batch.num_rows();
            waiting.push(self.checked(batch)?);
            if held >= ROWS_PER_WRITE {
                rows += std::mem::take(&mut held) as u64;
                files.extend(self.table.write(&std::mem::take(&mut waiting), Order::Sorted).await?);
            }
        }
        files.extend(self.table.write(&waiting, Order::Sorted).await?);
        Ok((files, rows + held as u64))
    }

    /// The batch, if it has just the columns of the table.
    fn checked(&self, batch: RecordBatch) -> Result<RecordBatch, ProfileError> {
        let schema = self.table.schema();
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
        Err(ProfileError::Schema { job: self.job.file.clone(), problem })
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

/// A relation kept for the round: Parquet files in a temporary folder, so that it need not fit in
/// memory. It goes when this is dropped.
pub(crate) struct Assembled {
    _folder: TempDir,
}

impl Assembled {
    /// Runs the job into files and registers them under the name that it makes.
    #[tracing::instrument(name = "job", skip_all, fields(file = %job.file))]
    pub(crate) async fn keep(reader: &Reader, job: &Job, frame: DataFrame) -> Result<Self, ProfileError> {
        let failed = || ProfileError::query(format!("jobs/{}", job.file));
        let folder = tempfile::tempdir().map_err(|e| failed()(e.into()))?;
        let path = format!("{}/", folder.path().display());
        let schema = Arc::clone(frame.schema().inner());
        let mut options = TableParquetOptions::default();
        options.global.compression = Some("lz4_raw".to_owned());
        frame.write_parquet(&path, DataFrameWriteOptions::new(), Some(options)).await.map_err(failed())?;
        let first = std::fs::read_dir(folder.path()).map_err(|e| failed()(e.into()))?.next();
        if first.is_none() {
            // No row, no file, and so no schema that could be read from one.
            reader.register_rows(&job.makes, RecordBatch::new_empty(schema))?;
            return Ok(Self { _folder: folder });
        }
        let ctx = reader.context();
        ctx.deregister_table(job.makes.as_str()).map_err(failed())?;
        ctx.register_parquet(job.makes.as_str(), &path, ParquetReadOptions::default())
            .await
            .map_err(failed())?;
        Ok(Self { _folder: folder })
    }
}
