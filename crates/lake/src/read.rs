//! Reading a file's rows, as the table has them: columns that an old file lacks are null, those that the
//! description lacks are left out, the partition's come from the log.
//!
//! A small file is fetched whole, a large one row group by row group, so that memory stays bounded
//! however large it is. Invariant: a damaged file is an error with its path, never a panic and never
//! fewer rows.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, Date32Array, RecordBatch, new_null_array};
use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use object_store::ObjectStoreExt;
use parquet::errors::ParquetError;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::parquet_read::{Footer, Section};
use crate::stats::day_number;
use crate::{DataFile, Error, Result, Table, TableSchema, batch};

/// Rows in a batch where whole files are read.
const BATCH: usize = 64 * 1024;

/// Bytes up to which a file is fetched whole.
const WHOLE: u64 = 4 << 20;

/// Bytes from a large file's end that are fetched in the hope that they hold its footer.
const TAIL: u64 = 256 << 10;

/// The rows of a file (without partition columns), batch by batch, decoded ahead by another thread.
pub(crate) struct Rows {
    batches: mpsc::Receiver<Result<RecordBatch>>,
    reader: JoinHandle<()>,
}

impl Rows {
    /// The next rows, or none at the end.
    pub(crate) async fn next(&mut self) -> Option<Result<RecordBatch>> {
        self.batches.recv().await
    }
}

impl Drop for Rows {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl Table {
    /// Reads a whole file: all columns of the table, the partition's included.
    ///
    /// # Errors
    /// [`Error::Damaged`] with the file's path where it is gone, cut short or not Parquet.
    pub async fn read(&self, file: &DataFile) -> Result<Vec<RecordBatch>> {
        let mut rows = self.rows(file, BATCH);
        let mut whole = Vec::new();
        while let Some(batch) = rows.next().await {
            whole.push(self.with_partition(file, &batch?)?);
        }
        Ok(whole)
    }

    /// Begins to read a file.
    pub(crate) fn rows(&self, file: &DataFile, batch_rows: usize) -> Rows {
        self.read_rows(file, Form::Table, batch_rows)
    }

    /// Begins to read a file whose rows are only to be moved.
    pub(crate) fn moving_rows(&self, file: &DataFile, batch_rows: usize) -> Rows {
        self.read_rows(file, Form::Moving, batch_rows)
    }

    fn read_rows(&self, file: &DataFile, form: Form, batch_rows: usize) -> Rows {
        let (send, batches) = mpsc::channel(1);
        let reading = Reading { source: self.source(file), form, batch_rows, send };
        Rows { batches, reader: tokio::spawn(reading.run()) }
    }

    /// All bytes of a file.
    ///
    /// # Errors
    /// Like [`Table::read`].
    pub(crate) async fn bytes(&self, file: &DataFile) -> Result<Bytes> {
        self.source(file).whole().await
    }

    /// A file's footer.
    ///
    /// # Errors
    /// Like [`Table::read`].
    pub(crate) async fn footer(&self, file: &DataFile) -> Result<Footer> {
        self.source(file).footer(Form::Table).await
    }

    fn source(&self, file: &DataFile) -> Source {
        Source { table: self.clone(), file: file.clone() }
    }

    /// A file's rows with the columns that only the log holds.
    pub(crate) fn with_partition(&self, file: &DataFile, rows: &RecordBatch) -> Result<RecordBatch> {
        let schema = self.schema();
        let columns = schema.columns.iter().map(|column| -> ArrayRef {
            if let Some(value) = file.partition_values.get(&column.name) {
                let day = value.as_deref().and_then(day_number);
                return Arc::new(Date32Array::from_iter(std::iter::repeat_n(day, rows.num_rows())));
            }
            let held = rows.column_by_name(&column.name);
            held.map_or_else(|| new_null_array(&column.data_type.arrow(), rows.num_rows()), Arc::clone)
        });
        RecordBatch::try_new(schema.arrow(), columns.collect()).map_err(|e| batch::encode_error(schema, e))
    }
}

/// Where the bytes of a file come from.
struct Source {
    table: Table,
    file: DataFile,
}

/// What rows come as.
#[derive(Debug, Clone, Copy)]
enum Form {
    /// With all columns of the table, in its types.
    Table,
    /// Texts as views into the file's pages; columns that hold nothing are left out.
    Moving,
}

impl Form {
    /// The columns of a file that was written as files are written now.
    fn arrow(self, schema: &TableSchema) -> SchemaRef {
        match self {
            Self::Table => schema.arrow_in_file(),
            Self::Moving => schema.arrow_viewed(),
        }
    }
}

/// The reading of a file's rows.
struct Reading {
    source: Source,
    form: Form,
    batch_rows: usize,
    send: mpsc::Sender<Result<RecordBatch>>,
}

impl Reading {
    async fn run(self) {
        if let Err(error) = self.read().await {
            // Nobody who listens means that nobody wants to know.
            let _ = self.send.send(Err(error)).await;
        }
    }

    async fn read(&self) -> Result<()> {
        let (source, size) = (&self.source, self.source.file.size);
        let mut rows = 0;
        if size <= WHOLE {
            let section = Section::whole(source.whole().await?);
            rows += self.decode(section, None).await?;
        } else {
            let footer = source.footer(self.form).await?;
            for group in 0..footer.row_groups() {
                let range = footer.range(group).filter(|range| range.end <= size);
                let range =
                    range.ok_or_else(|| source.damaged("its footer points beyond its end".to_owned()))?;
                let bytes = source.fetch(Some(range.clone())).await?;
                let section = Section { start: range.start, bytes, len: size };
                rows += self.decode(section, Some((footer.clone(), group))).await?;
            }
        }
        if rows != source.file.rows {
            return Err(source.damaged(format!("it holds {rows} rows, the log says {}", source.file.rows)));
        }
        Ok(())
    }

    /// Decodes a row group, or a whole file, and sends its rows; says how many there were.
    async fn decode(&self, section: Section, group: Option<(Footer, usize)>) -> Result<u64> {
        let source = &self.source;
        let (schema, form) = (source.table.shared_schema(), self.form);
        let (send, batch_rows) = (self.send.clone(), self.batch_rows);
        let decoded = source.blocking(move || decode(&schema, form, section, group, batch_rows, &send));
        decoded.await?.map_err(|reason| source.damaged(reason))
    }
}

impl Source {
    async fn whole(&self) -> Result<Bytes> {
        let bytes = self.fetch(None).await?;
        if bytes.len() as u64 != self.file.size {
            let reason = format!("it holds {} bytes, the log says {}", bytes.len(), self.file.size);
            return Err(self.damaged(reason));
        }
        Ok(bytes)
    }

    /// The footer of a file that is not fetched whole.
    async fn footer(&self, form: Form) -> Result<Footer> {
        let mut tail = TAIL;
        loop {
            let start = self.file.size.saturating_sub(tail);
            let bytes = self.fetch(Some(start..self.file.size)).await?;
            let section = Section { start, bytes, len: self.file.size };
            let schema = self.table.shared_schema();
            match self.blocking(move || Footer::read(&schema, form.arrow(&schema), &section)).await? {
                Ok(footer) => return Ok(footer),
                Err(ParquetError::NeedMoreData(more)) if more as u64 > tail => tail = more as u64,
                Err(wrong) => return Err(self.damaged(wrong.to_string())),
            }
        }
    }

    /// The bytes of the file, or a range of them.
    async fn fetch(&self, range: Option<Range<u64>>) -> Result<Bytes> {
        let location = self.table.location(&self.file);
        let fetched = match range {
            Some(range) => self.table.store().get_range(&location, range).await,
            None => match self.table.store().get(&location).await {
                Ok(found) => found.bytes().await,
                Err(error) => Err(error),
            },
        };
        match fetched {
            Err(object_store::Error::NotFound { .. }) => {
                Err(self.damaged("it is gone, though the log names it".to_owned()))
            }
            fetched => fetched.map_err(Error::store(format!("reading {location}"))),
        }
    }

    /// The Parquet reader stops some tasks on damaged files instead of returning an error.
    async fn blocking<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        tokio::task::spawn_blocking(work).await.map_err(|e| self.damaged(format!("its reader stopped: {e}")))
    }

    fn damaged(&self, reason: String) -> Error {
        Error::Damaged { path: self.table.location(&self.file).to_string(), reason }
    }
}

fn decode(
    schema: &TableSchema,
    form: Form,
    section: Section,
    group: Option<(Footer, usize)>,
    batch_rows: usize,
    send: &mpsc::Sender<Result<RecordBatch>>,
) -> Result<u64, String> {
    let (footer, group) = match group {
        Some((footer, group)) => (footer, Some(group)),
        None => (Footer::read(schema, form.arrow(schema), &section).map_err(|e| e.to_string())?, None),
    };
    let mut rows = 0;
    for batch in footer.reader(section, group, batch_rows).map_err(|e| e.to_string())? {
        let batch = batch.map_err(|e| e.to_string())?;
        let fitted = match form {
            Form::Table => batch::fit_file(schema, &batch),
            Form::Moving => batch::fit_viewed(schema, &batch),
        };
        let fitted = fitted.map_err(|e| e.to_string())?;
        rows += fitted.num_rows() as u64;
        if send.blocking_send(Ok(fitted)).is_err() {
            return Err("nobody wants its rows any more".to_owned());
        }
    }
    Ok(rows)
}
