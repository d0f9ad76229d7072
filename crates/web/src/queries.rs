//! Read-only SQL within limits of rows, time, memory and number.
//!
//! A query runs on a runtime of its own, so that a heavy one slows neither receivers nor health checks.
//! Invariant: it reads the latest finished round and cannot change anything.

use std::{sync::Arc, time::Duration};

use arrow::{array::RecordBatch, datatypes::SchemaRef};
use datafusion::error::DataFusionError;
use futures::StreamExt as _;
use plimsoll_lake::Lake;
use plimsoll_profile::{ProfileError, Reader, SessionFactory};
use tokio::{runtime::Handle, sync::Semaphore, time::timeout};

/// What one query, and all of them together, may take; their memory is the sessions'.
#[derive(Debug, Clone, Copy)]
pub struct QueryLimits {
    /// Rows of an answer.
    pub rows: usize,
    /// Time from its start to its last row.
    pub time: Duration,
    /// Queries at once.
    pub at_once: usize,
}

/// Answers queries over a lake; cheap to clone.
#[derive(Debug, Clone)]
pub struct Queries {
    lake: Lake,
    sessions: SessionFactory,
    limits: QueryLimits,
    places: Arc<Semaphore>,
    runtime: Handle,
}

/// The rows of an answer.
#[derive(Debug)]
pub(crate) struct Rows {
    pub(crate) schema: SchemaRef,
    pub(crate) batches: Vec<RecordBatch>,
    /// The round that they were read from; 0 before the first.
    pub(crate) lake_version: i64,
}

/// A query that was not answered.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    #[error("{0}")]
    Wrong(String),
    #[error(
        "the answer has more than {0} rows: add a LIMIT, or run it with `plimsoll sql` or `plimsoll export`"
    )]
    TooManyRows(usize),
    #[error("the query took longer than {} s: narrow it to fewer days, or run it with `plimsoll sql`", .0.as_secs())]
    TooSlow(Duration),
    #[error(
        "the query needs more memory than queries have here ({0}): narrow it, or run it with `plimsoll sql`"
    )]
    TooLarge(String),
    #[error("as many queries as this server takes are running: try again")]
    Busy,
    #[error("{0}")]
    Failed(String),
}

impl Queries {
    /// Answers on `runtime`; each session has the memory that `sessions` says.
    pub fn new(lake: Lake, sessions: SessionFactory, limits: QueryLimits, runtime: Handle) -> Self {
        Self { lake, sessions, limits, places: Arc::new(Semaphore::new(limits.at_once)), runtime }
    }

    /// Runs one statement. Whoever drops the future gives the query up.
    pub(crate) async fn run(&self, sql: String) -> Result<Rows, Refused> {
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(|_| Refused::Busy)?;
        let this = self.clone();
        let task = self.runtime.spawn(async move {
            let _held = place;
            this.rows(&sql).await
        });
        let _given_up = AbortOnDrop(task.abort_handle());
        // Outside of the task: one that never pauses cannot be told the time. It keeps its place until it does.
        match timeout(self.limits.time, task).await {
            Ok(answer) => answer.unwrap_or_else(|error| Err(Refused::Failed(error.to_string()))),
            Err(_) => Err(Refused::TooSlow(self.limits.time)),
        }
    }

    async fn rows(&self, sql: &str) -> Result<Rows, Refused> {
        let reader = Reader::pinned(&self.lake, &self.sessions).await?;
        let lake_version = reader.snapshot().map_or(0, |row| row.lake_version);
        let mut stream = reader.plan(sql).await?.execute_stream().await?;
        let schema = stream.schema();
        let (mut batches, mut rows) = (Vec::new(), 0);
        while let Some(batch) = stream.next().await.transpose()? {
            rows += batch.num_rows();
            if rows > self.limits.rows {
                return Err(Refused::TooManyRows(self.limits.rows));
            }
            batches.push(batch);
        }
        Ok(Rows { schema, batches, lake_version })
    }
}

struct AbortOnDrop(tokio::task::AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl From<DataFusionError> for Refused {
    fn from(error: DataFusionError) -> Self {
        let text = error.strip_backtrace();
        let line = text.lines().next().unwrap_or_default().to_owned();
        match error.find_root() {
            DataFusionError::ResourcesExhausted(_) => Self::TooLarge(line),
            DataFusionError::ObjectStore(_)
            | DataFusionError::ParquetError(_)
            | DataFusionError::IoError(_)
            | DataFusionError::Internal(_) => Self::Failed(line),
            _ => Self::Wrong(line),
        }
    }
}

impl From<ProfileError> for Refused {
    fn from(error: ProfileError) -> Self {
        match error {
            ProfileError::Query { source, .. } => (*source).into(),
            other => Self::Failed(other.to_string()),
        }
    }
}
