//! One Parquet file from the writer's side: from rows to bytes with statistics.
//!
//! How a file is laid out is decided here and nowhere else: zstd at its fastest level (Snappy in files of
//! few rows), row groups that a reader can share out among threads, page index, dictionaries where values repeat, a Bloom filter
//! on the ids that people look up. Naming and storing files is left to [`crate::Table`].
//!
//! Invariant: the file has no partition column (their values are in the log) and no column that the
//! table does not have.

use std::io::Write;
use std::sync::Arc;

use arrow::array::RecordBatch;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::arrow::{ArrowSchemaConverter, ArrowWriter};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::SortingColumn;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;

use crate::parquet_columns::leaf_count;
use crate::schema::{Column, ColumnType, TableSchema};
use crate::stats::{BOUND_BYTES, FileStats};
use crate::{Error, Result};

/// Rows in a row group: a scan is shared out by row groups, so a day of a busy lake has many.
pub(crate) const ROW_GROUP_ROWS: usize = 128 * 1024;

/// Rows from which on a file is worth zstd, which sets up half a megabyte for every page: a day of a
/// derived table has dozens of columns of a few thousand rows, and takes longer to set up than to pack.
const ZSTD_ROWS: u64 = 32 * 1024;

/// Columns that people look up one value of.
const LOOKED_UP: [&str; 2] = ["trace_id", "run_id"];

/// A file's bytes and what is known of them.
#[derive(Debug)]
pub(crate) struct Encoded {
    pub(crate) bytes: Vec<u8>,
    pub(crate) rows: u64,
    pub(crate) stats: FileStats,
}

/// Encodes rows (without partition columns) as one file.
pub(crate) fn encode(schema: &TableSchema, rows: &[RecordBatch], sorted: bool) -> Result<Encoded> {
    let count = rows.iter().map(|batch| batch.num_rows() as u64).sum();
    let wrong = |e: ParquetError| encode_error(schema, &e);
    let mut writer = writer(schema, sorted, count, Vec::new())?;
    for batch in rows {
        writer.write(batch).map_err(wrong)?;
    }
    let footer = writer.finish().map_err(wrong)?;
    let bytes = std::mem::take(writer.inner_mut());
    Ok(Encoded { rows: count, stats: FileStats::from_footer(schema, &footer), bytes })
}

/// Begins a file of about `rows` rows (without partition columns).
fn writer<W: Write + Send>(schema: &TableSchema, sorted: bool, rows: u64, to: W) -> Result<ArrowWriter<W>> {
    let wrong = |e: ParquetError| encode_error(schema, &e);
    // The Arrow schema is not embedded: the Parquet one says it all, and every engine reads that.
    let options = ArrowWriterOptions::new()
        .with_properties(properties(schema, sorted, rows).map_err(wrong)?)
        .with_skip_arrow_metadata(true);
    ArrowWriter::try_new_with_options(to, schema.arrow_in_file(), options).map_err(wrong)
}

/// Begins a file of about `rows` rows whose row groups are written one by one.
pub(crate) fn group_writer<W: Write + Send>(
    schema: &TableSchema,
    sorted: bool,
    rows: u64,
    to: W,
) -> Result<SerializedFileWriter<W>> {
    let begin = || {
        let shape = ArrowSchemaConverter::new().convert(&schema.arrow_in_file())?;
        let properties = properties(schema, sorted, rows)?;
        SerializedFileWriter::new(to, shape.root_schema_ptr(), Arc::new(properties))
    };
    begin().map_err(|e| encode_error(schema, &e))
}

pub(crate) fn encode_error(schema: &TableSchema, error: &ParquetError) -> Error {
    Error::Encode { table: schema.name.clone(), reason: error.to_string() }
}

fn properties(schema: &TableSchema, sorted: bool, rows: u64) -> Result<WriterProperties, ParquetError> {
    let compression =
        if rows < ZSTD_ROWS { Compression::SNAPPY } else { Compression::ZSTD(ZstdLevel::try_new(1)?) };
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("plimsoll ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(compression)
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_statistics_truncate_length(Some(BOUND_BYTES))
        .set_column_index_truncate_length(Some(BOUND_BYTES));
    for column in &schema.columns {
        let path = ColumnPath::from(column.name.as_str());
        if LOOKED_UP.contains(&column.name.as_str()) {
            // No more values than rows in a row group: by itself the writer makes room for a million.
            properties = properties
                .set_column_bloom_filter_enabled(path.clone(), true)
                .set_column_bloom_filter_max_ndv(path.clone(), rows.clamp(1, ROW_GROUP_ROWS as u64));
        }
        match column.data_type {
            // Ids hardly repeat: a dictionary of them is built only to be thrown away.
            ColumnType::String if is_id(&column.name) => {
                properties = properties.set_column_dictionary_enabled(path, false);
            }
            // Times and nanoseconds hardly repeat, but lie near each other.
            ColumnType::Timestamp => {
                properties = properties
                    .set_column_dictionary_enabled(path.clone(), false)
                    .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
            }
            ColumnType::BigInt if column.unit.as_deref() == Some("ns") => {
                properties = properties
                    .set_column_dictionary_enabled(path.clone(), false)
                    .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
            }
            ColumnType::Double => {
                properties = properties.set_column_dictionary_enabled(path, false);
            }
            _ => {}
        }
    }
    // Nobody skips by the bounds of what lies within lists and maps, and to find them takes as long as to
    // write it.
    for path in schema.columns.iter().flat_map(inner_leaves) {
        properties = properties.set_column_statistics_enabled(path, EnabledStatistics::None);
    }
    if sorted {
        properties = properties.set_sorting_columns(sorting_columns(schema));
    }
    Ok(properties.build())
}

/// Leaves in the file of a column that is a list or a map.
fn inner_leaves(column: &Column) -> Vec<ColumnPath> {
    let leaves: &[[&str; 2]] = match column.data_type {
        ColumnType::StringList => &[["list", "element"]],
        ColumnType::StringMap | ColumnType::BigIntMap => &[["key_value", "key"], ["key_value", "value"]],
        _ => &[],
    };
    let path = |[group, leaf]: &[&str; 2]| [column.name.as_str(), group, leaf].map(str::to_owned).to_vec();
    leaves.iter().map(|leaf| ColumnPath::new(path(leaf))).collect()
}

/// Whether a column holds identifiers that mostly differ from row to row.
fn is_id(name: &str) -> bool {
    name.ends_with("_id")
}

/// The table's order of rows as Parquet tells it; none where it sorts by a column that is not one leaf.
fn sorting_columns(schema: &TableSchema) -> Option<Vec<SortingColumn>> {
    let leaves = schema.arrow_in_file();
    schema
        .sort_by
        .iter()
        .map(|name| {
            let at = leaves.index_of(name).ok()?;
            let before = leaves.fields().iter().take(at);
            let leaf: usize = before.map(|field| leaf_count(field.data_type())).sum();
            Some(SortingColumn {
                column_idx: i32::try_from(leaf).ok()?,
                descending: false,
                nulls_first: true,
            })
        })
        .collect()
}
