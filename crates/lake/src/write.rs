//! Writing rows as files: durable, and not yet part of the table.
//!
//! That they count is a commit's business ([`Table::append`], [`Table::rewrite`]). Invariant: a file is
//! whole when it has its name, and its name is never used again.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::RecordBatch;
use futures::stream::{self, StreamExt, TryStreamExt};
use object_store::ObjectStoreExt;
use uuid::Uuid;

use crate::batch::{self, Part};
use crate::parquet_file::{self, Encoded};
use crate::snapshot::SORTED;
use crate::{DataFile, Error, Result, Table};

/// Partitions encoded at once.
const ENCODERS: usize = 2;

/// Folder name of a null partition value, as Hive and everyone since writes it.
const NULL_PARTITION: &str = "__HIVE_DEFAULT_PARTITION__";

/// Order of the rows in a file that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// As they come: for fresh data, which a compaction sorts later.
    AsIs,
    /// By the table's `sort_by`.
    Sorted,
}

impl Table {
    /// Writes rows as files, one a partition, durable but not yet visible.
    ///
    /// # Errors
    /// [`Error::Rows`] where rows do not fit the table; [`Error::Store`] where the disk is full and
    /// the like. Nothing becomes visible then.
    pub async fn write(&self, batches: &[RecordBatch], order: Order) -> Result<Vec<DataFile>> {
        let schema = self.shared_schema();
        let batches = batches.to_vec();
        let parts = self
            .blocking(move || {
                let fitted: Result<_> = batches.iter().map(|b| batch::conform(&schema, b)).collect();
                batch::split(&schema, fitted?)
            })
            .await?;
        stream::iter(parts).map(|part| self.write_part(part, order)).buffered(ENCODERS).try_collect().await
    }

    async fn write_part(&self, part: Part, order: Order) -> Result<DataFile> {
        let schema = self.shared_schema();
        let Part { values, rows } = part;
        let Encoded { bytes, rows, stats } = self
            .blocking(move || match order {
                Order::AsIs => parquet_file::encode(&schema, &rows, false),
                Order::Sorted => {
                    let sorted = batch::sort(&schema, &rows)?;
                    parquet_file::encode(&schema, &[sorted], true)
                }
            })
            .await?;
        let file = DataFile {
            path: new_path(&values, order),
            size: bytes.len() as u64,
            partition_values: values,
            rows,
            stats: Arc::new(stats),
            modified_ms: jiff::Timestamp::now().as_millisecond(),
        };
        let location = self.location(&file);
        let put = self.store().put(&location, bytes.into()).await;
        put.map_err(Error::store(format!("writing {location}")))?;
        Ok(file)
    }

    /// Work for a processor, off the threads that wait for disks and networks.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        tokio::task::spawn_blocking(work).await.map_err(|e| self.encoder_stopped(&e))?
    }

    pub(crate) fn encoder_stopped(&self, why: &dyn std::fmt::Display) -> Error {
        let reason = format!("the encoder stopped: {why}");
        Error::Encode { table: self.schema().name.clone(), reason }
    }
}

/// A path, within the table's folder, that no file has had.
pub(crate) fn new_path(values: &BTreeMap<String, Option<String>>, order: Order) -> String {
    let kind = match order {
        Order::AsIs => "part-",
        Order::Sorted => SORTED,
    };
    format!("{}{kind}{}.parquet", folder(values), Uuid::new_v4())
}

/// The folder of a partition within the table's, with a slash at its end; empty where there are none.
pub(crate) fn folder(values: &BTreeMap<String, Option<String>>) -> String {
    let folders = values.iter();
    folders
        .map(|(column, value)| format!("{column}={}/", value.as_deref().unwrap_or(NULL_PARTITION)))
        .collect()
}
