//! A row group's columns, each encoded on its own: by as many threads as there are processors.
//!
//! How a column is encoded is said by the properties in `parquet_file.rs`; where its values come from, by
//! the caller. Invariant: the chunks come in the order of the columns, whoever encoded them.

use std::io::Write;
use std::num::NonZero;
use std::sync::{Arc, Mutex, PoisonError};
use std::{panic, thread};

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, FieldRef};
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves,
};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedFileWriter;

use crate::{Result, TableSchema, parquet_file};

/// A column that nobody has encoded yet.
struct Work {
    /// Its place in the file.
    at: usize,
    field: FieldRef,
    leaves: Vec<ArrowColumnWriter>,
}

/// Encodes the columns of the next row group of a file.
pub(crate) fn encode_columns<W: Write + Send>(
    schema: &TableSchema,
    file: &SerializedFileWriter<W>,
    column: impl Fn(usize) -> Result<ArrayRef> + Sync,
) -> Result<Vec<ArrowColumnChunk>> {
    let wrong = |e: ParquetError| parquet_file::encode_error(schema, &e);
    let arrow = schema.arrow_in_file();
    let factory = ArrowRowGroupWriterFactory::new(file, Arc::clone(&arrow));
    let group = file.flushed_row_groups().len();
    let mut writers = factory.create_column_writers(group).map_err(wrong)?.into_iter();
    let mut work: Vec<Work> = arrow
        .fields()
        .iter()
        .enumerate()
        .map(|(at, field)| Work {
            at,
            field: Arc::clone(field),
            leaves: writers.by_ref().take(leaf_count(field.data_type())).collect(),
        })
        .collect();
    // What takes longest comes first: the queue is emptied from its end.
    work.sort_by_key(|work| work.field.data_type().is_nested());
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(work.len());
    let queue = Mutex::new(work);
    let encode_some = || -> Result<Vec<(usize, Vec<ArrowColumnChunk>)>> {
        let mut encoded = Vec::new();
        loop {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let Some(Work { at, field, leaves }) = next else { return Ok(encoded) };
            let values = column(at)?;
            // In the type of the values, which may be another of those that are stored alike.
            let field = field.as_ref().clone().with_data_type(values.data_type().clone());
            let parts = compute_leaves(&field, &values).map_err(wrong)?;
            let chunks = leaves.into_iter().zip(parts).map(|(mut writer, part)| {
                writer.write(&part)?;
                writer.close()
            });
            encoded.push((at, chunks.collect::<Result<Vec<_>, _>>().map_err(wrong)?));
        }
    };
    let parts: Vec<Result<_>> = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(encode_some)).collect();
        let mine = encode_some();
        let others =
            others.into_iter().map(|other| other.join().unwrap_or_else(|cause| panic::resume_unwind(cause)));
        std::iter::once(mine).chain(others).collect()
    });
    let mut encoded: Vec<_> = parts.into_iter().collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
    encoded.sort_by_key(|(at, _)| *at);
    Ok(encoded.into_iter().flat_map(|(_, chunks)| chunks).collect())
}

/// Leaves of a column in the file.
pub(crate) fn leaf_count(data_type: &DataType) -> usize {
    match data_type {
        DataType::Map(..) => 2,
        _ => 1,
    }
}
