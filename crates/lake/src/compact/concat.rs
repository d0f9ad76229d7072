//! Sorted files become one: their row groups, encoded already, are copied one behind the other.
//!
//! That costs a read and a write and no encoding, so a row is encoded once however often its file grows.
//! Memory holds one input at a time. Invariant: row groups, their statistics, indexes and Bloom filters
//! are copied as they are; files of another shape than the table's are not copied but told.

use parquet::bloom_filter::Sbbf;
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::writer::SerializedFileWriter;
use tokio::runtime::Handle;

use crate::output::{Buffer, PIECE, Sending};
use crate::stats::FileStats;
use crate::{DataFile, Error, Order, Result, Table, parquet_file};

/// Copies sorted files of one partition into one; none where a file is of another shape than those that
/// are written now, so that its rows must be encoded anew. For a thread that may block, within the
/// runtime.
pub(super) fn concat(table: &Table, files: &[DataFile]) -> Result<Option<DataFile>> {
    let schema = table.schema();
    let wrong = |e: ParquetError| parquet_file::encode_error(schema, &e);
    let Some(first) = files.first() else { return Ok(None) };
    let rows = files.iter().map(|file| file.rows).sum();
    let mut writer = parquet_file::group_writer(schema, true, rows, Buffer::default())?;
    let mut sending = Sending::begin(table, first.partition_values.clone(), Order::Sorted);
    for file in files {
        let damaged = |e: ParquetError| Error::Damaged {
            path: table.location(file).to_string(),
            reason: e.to_string(),
        };
        let bytes = Handle::current().block_on(table.bytes(file))?;
        let footer = ParquetMetaDataReader::new()
            .with_page_index_policy(PageIndexPolicy::Optional)
            .parse_and_finish(&bytes)
            .map_err(damaged)?;
        if footer.file_metadata().schema() != writer.schema_descr().root_schema() {
            return Ok(None);
        }
        if u64::try_from(footer.file_metadata().num_rows()) != Ok(file.rows) {
            let held = footer.file_metadata().num_rows();
            return Err(damaged(ParquetError::General(format!(
                "it holds {held} rows, the log says {}",
                file.rows
            ))));
        }
        for group in 0..footer.num_row_groups() {
            copy(&mut writer, &footer, group, &bytes).map_err(damaged)?;
            if writer.inner().len() >= PIECE {
                sending.pass(writer.inner_mut().take())?;
            }
        }
    }
    let footer = writer.finish().map_err(wrong)?;
    sending.pass(writer.inner_mut().take())?;
    let stats = FileStats::from_footer(schema, &footer);
    sending.finish(rows, stats).map(Some)
}

/// Copies a row group.
fn copy(
    writer: &mut SerializedFileWriter<Buffer>,
    footer: &ParquetMetaData,
    group: usize,
    bytes: &bytes::Bytes,
) -> Result<(), ParquetError> {
    let Some(held) = footer.row_groups().get(group) else { return Ok(()) };
    let columns = footer.column_index().and_then(|index| index.get(group));
    let pages = footer.offset_index().and_then(|index| index.get(group));
    let mut copied = writer.next_row_group()?;
    for (at, column) in held.columns().iter().enumerate() {
        let close = ColumnCloseResult {
            bytes_written: u64::try_from(column.compressed_size()).unwrap_or_default(),
            rows_written: u64::try_from(held.num_rows()).unwrap_or_default(),
            metadata: column.clone(),
            bloom_filter: Sbbf::read_from_column_chunk(column, bytes)?,
            column_index: columns.and_then(|index| index.get(at)).cloned(),
            offset_index: pages.and_then(|index| index.get(at)).cloned(),
        };
        copied.append_column(bytes, close)?;
    }
    copied.close().map(drop)
}
