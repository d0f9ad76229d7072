//! Taking rows out of a file: the file anew, without those that are not to be kept.
//!
//! Which rows stay is the caller's to say, and that the new file takes the old one's place is
//! [`Table::rewrite`]'s. Invariant: rows that stay are the same, in the same order.

use arrow::array::{Array, BooleanArray, RecordBatch};
use arrow::compute::{concat, filter_record_batch};
use tokio::sync::mpsc;

use crate::output::Output;
use crate::parquet_file::ROW_GROUP_ROWS;
use crate::{DataFile, Order, Result, Table, batch};

/// Rows that are looked at at once.
const BATCH: usize = 8 * 1024;

/// Bytes of decoded rows from which on a row group is written, however few its rows.
const GROUP_BYTES: usize = 32 << 20;

/// What became of a file.
#[derive(Debug, Clone, PartialEq)]
pub enum Filtered {
    /// All its rows stay: there is no new file.
    Unchanged,
    /// Some rows went.
    Changed {
        /// The rows that stay, written and not yet committed; none where none stay.
        file: Option<DataFile>,
        /// Rows that went.
        removed: u64,
    },
}

impl Table {
    /// Writes a file anew with the rows for which `keep` is true (null counts as false). `keep` sees all
    /// columns of the table, some thousands of rows at a time.
    ///
    /// # Errors
    /// Like [`Table::read`] and [`Table::write`]; [`crate::Error::Unsupported`] where the table has columns
    /// that are not known here; what `keep` says.
    pub async fn filter(
        &self,
        file: &DataFile,
        mut keep: impl FnMut(&RecordBatch) -> Result<BooleanArray> + Send,
    ) -> Result<Filtered> {
        self.all_columns_known(&self.snapshot().await?)?;
        let (mut masks, mut held) = (Vec::new(), 0);
        let mut rows = self.rows(file, BATCH);
        while let Some(rows) = rows.next().await {
            let mask = keep(&self.with_partition(file, &rows?)?)?;
            held += mask.true_count() as u64;
            masks.push(mask);
        }
        if held == file.rows {
            return Ok(Filtered::Unchanged);
        }
        let kept = if held == 0 { None } else { Some(self.keep_rows(file, masks, held).await?) };
        Ok(Filtered::Changed { file: kept, removed: file.rows - held })
    }

    /// Writes the rows of a file that its masks, one a batch, let pass.
    ///
    /// Several orders may follow each other in a file of several row groups, and the new groups may cut
    /// across: so the new file is not called sorted, and a compaction sorts it again.
    async fn keep_rows(&self, file: &DataFile, masks: Vec<BooleanArray>, held: u64) -> Result<DataFile> {
        let (send, mut passing) = mpsc::channel::<RecordBatch>(1);
        let (table, partition) = (self.clone(), file.partition_values.clone());
        let written = tokio::spawn(async move {
            let work = table.clone();
            table
                .blocking(move || {
                    let mut output = Output::begin(&work, partition, Order::AsIs, held)?;
                    let (mut group, mut gathered, mut bytes) = (Vec::new(), 0, 0);
                    while let Some(rows) = passing.blocking_recv() {
                        if gathered + rows.num_rows() > ROW_GROUP_ROWS || bytes > GROUP_BYTES {
                            write_group(&work, &mut output, &group)?;
                            (group, gathered, bytes) = (Vec::new(), 0, 0);
                        }
                        gathered += rows.num_rows();
                        bytes += rows.get_array_memory_size();
                        group.push(rows);
                    }
                    write_group(&work, &mut output, &group)?;
                    // Where the reader has failed, rows are missing: the caller drops the file then.
                    output.finish()
                })
                .await
        });
        let mut rows = self.rows(file, BATCH);
        for mask in masks {
            let Some(batch) = rows.next().await else { break };
            let rest =
                filter_record_batch(&batch?, &mask).map_err(|e| batch::encode_error(self.schema(), e))?;
            if rest.num_rows() > 0 && send.send(rest).await.is_err() {
                break;
            }
        }
        drop(send);
        let kept = written.await.map_err(|e| self.encoder_stopped(&e))??;
        if kept.rows == held { Ok(kept) } else { Err(self.encoder_stopped(&"it has lost rows")) }
    }
}

/// Writes batches as one row group, if there are any: a scan pays for each group.
fn write_group(table: &Table, output: &mut Output, batches: &[RecordBatch]) -> Result<()> {
    let rows = batches.iter().map(RecordBatch::num_rows).sum();
    if rows == 0 {
        return Ok(());
    }
    output.write(rows, |at| {
        let parts: Vec<&dyn Array> = batches.iter().map(|batch| batch.column(at).as_ref()).collect();
        concat(&parts).map_err(|e| batch::encode_error(table.schema(), e))
    })
}
