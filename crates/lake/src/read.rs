//! Reading a file's rows, as the table has them: columns that an old file lacks are null, those that the
//! description lacks are left out, the partition's come from the log.
//!
//! Invariant: a damaged file is an error with its path, never a panic and never fewer rows.

use std::sync::Arc;

use arrow::array::{ArrayRef, Date32Array, RecordBatch, RecordBatchOptions};
use object_store::ObjectStoreExt;

use crate::stats::day_number;
use crate::{DataFile, Error, Result, Table, batch, parquet_file};

impl Table {
    /// Reads a whole file: all columns of the table, the partition's included.
    ///
    /// # Errors
    /// [`Error::Damaged`] with the file's path where it is gone, cut short or not Parquet.
    pub async fn read(&self, file: &DataFile) -> Result<Vec<RecordBatch>> {
        let location = self.location(file);
        let damaged = |reason: String| Error::Damaged { path: location.to_string(), reason };
        let found = match self.store().get(&location).await {
            Err(object_store::Error::NotFound { .. }) => {
                return Err(damaged("it is gone, though the log names it".to_owned()));
            }
            found => found.map_err(Error::store(format!("reading {location}")))?,
        };
        let bytes = found.bytes().await.map_err(Error::store(format!("reading {location}")))?;
        if bytes.len() as u64 != file.size {
            let reason = format!("it holds {} bytes, the log says {}", bytes.len(), file.size);
            return Err(damaged(reason));
        }
        // The Parquet reader stops some tasks on damaged footers instead of returning an error.
        let decoded = tokio::task::spawn_blocking(move || parquet_file::decode(bytes))
            .await
            .map_err(|e| damaged(format!("its reader stopped: {e}")))?
            .map_err(|e| damaged(e.to_string()))?;
        let rows: Vec<RecordBatch> = decoded
            .iter()
            .map(|rows| self.whole(file, rows).map_err(|e| damaged(e.to_string())))
            .collect::<Result<_>>()?;
        let found: u64 = rows.iter().map(|batch| batch.num_rows() as u64).sum();
        if found != file.rows {
            return Err(damaged(format!("it holds {found} rows, the log says {}", file.rows)));
        }
        Ok(rows)
    }

    /// A file's rows with the columns that only the log holds.
    fn whole(&self, file: &DataFile, rows: &RecordBatch) -> Result<RecordBatch> {
        let mut columns: Vec<(String, ArrayRef)> = rows
            .schema_ref()
            .fields()
            .iter()
            .zip(rows.columns())
            .map(|(field, column)| (field.name().clone(), Arc::clone(column)))
            .collect();
        for (name, value) in &file.partition_values {
            let day = value.as_deref().and_then(day_number);
            let column = Date32Array::from_iter(std::iter::repeat_n(day, rows.num_rows()));
            columns.push((name.clone(), Arc::new(column)));
        }
        let fields: Vec<_> = columns
            .iter()
            .map(|(name, column)| arrow::datatypes::Field::new(name, column.data_type().clone(), true))
            .collect();
        let joined = RecordBatch::try_new_with_options(
            Arc::new(arrow::datatypes::Schema::new(fields)),
            columns.into_iter().map(|(_, column)| column).collect(),
            &RecordBatchOptions::new().with_row_count(Some(rows.num_rows())),
        );
        let joined = joined.map_err(|e| batch::encode_error(self.schema(), e))?;
        batch::conform(self.schema(), &joined)
    }
}
