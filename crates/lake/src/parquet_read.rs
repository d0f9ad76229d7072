//! One Parquet file from the reader's side: its footer, and rows from a part of its bytes.
//!
//! Fetching the bytes is left to `read.rs`. Invariant: of a file's columns those come that the table
//! has; one that holds nothing but nulls is left out like one that is not there.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use arrow::compute::can_cast_types;
use arrow::datatypes::SchemaRef;
use bytes::{Buf, Bytes};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::reader::{ChunkReader, Length};

use crate::schema::TableSchema;

/// Some bytes of a file.
#[derive(Debug, Clone)]
pub(crate) struct Section {
    /// Where they start in the file.
    pub(crate) start: u64,
    pub(crate) bytes: Bytes,
    /// Length of the file.
    pub(crate) len: u64,
}

impl Section {
    pub(crate) fn whole(bytes: Bytes) -> Self {
        Self { start: 0, len: bytes.len() as u64, bytes }
    }

    fn from(&self, start: u64) -> Result<Bytes, ParquetError> {
        let missing = || ParquetError::EOF(format!("no bytes from {start} on"));
        let at = start.checked_sub(self.start).and_then(|at| usize::try_from(at).ok()).ok_or_else(missing)?;
        if at > self.bytes.len() {
            return Err(missing());
        }
        Ok(self.bytes.slice(at..))
    }
}

impl Length for Section {
    fn len(&self) -> u64 {
        self.len
    }
}

impl ChunkReader for Section {
    type T = bytes::buf::Reader<Bytes>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        Ok(self.from(start)?.reader())
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let bytes = self.from(start)?;
        if length > bytes.len() {
            return Err(ParquetError::EOF(format!("no {length} bytes from {start} on")));
        }
        Ok(bytes.slice(..length))
    }
}

/// What a file's footer says, as far as reading its rows needs it.
#[derive(Debug, Clone)]
pub(crate) struct Footer {
    metadata: ArrowReaderMetadata,
    projection: ProjectionMask,
}

impl Footer {
    /// Finds the footer in the last bytes of a file; the error says how many it takes where they were
    /// too few. A file of just the columns of `arrow` is read in its types, another in its own.
    pub(crate) fn read(schema: &TableSchema, arrow: SchemaRef, end: &Section) -> Result<Self, ParquetError> {
        let mut reader = ParquetMetaDataReader::new().with_page_index_policy(PageIndexPolicy::Skip);
        let tail = end.bytes.clone();
        reader.try_parse_sized(&tail, end.len)?;
        let found = Arc::new(reader.finish()?);
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let metadata = ArrowReaderMetadata::try_new(Arc::clone(&found), options.clone().with_schema(arrow))
            .or_else(|_| ArrowReaderMetadata::try_new(Arc::clone(&found), options))?;
        let described = found.file_metadata().schema_descr();
        let roots = described.root_schema().get_fields().iter().enumerate().filter_map(|(at, field)| {
            schema.column(field.name()).filter(|_| !is_empty(&found, at)).map(|_| at)
        });
        let projection = ProjectionMask::roots(described, roots);
        Ok(Self { metadata, projection })
    }

    /// What the footer itself says.
    pub(crate) fn metadata(&self) -> &ParquetMetaData {
        self.metadata.metadata()
    }

    /// Number of rows.
    pub(crate) fn rows(&self) -> u64 {
        u64::try_from(self.metadata().file_metadata().num_rows()).unwrap_or_default()
    }

    /// In what its columns do not fit the table, if they do not.
    pub(crate) fn misfit(&self, schema: &TableSchema) -> Option<String> {
        let columns = self.metadata.schema();
        schema.arrow_in_file().fields().iter().find_map(|wanted| {
            match columns.field_with_name(wanted.name()) {
                Err(_) if wanted.is_nullable() => None,
                Err(_) => Some(format!("it lacks column {}, which is never null", wanted.name())),
                Ok(found) if can_cast_types(found.data_type(), wanted.data_type()) => None,
                Ok(found) => {
                    let (name, found, wanted) = (wanted.name(), found.data_type(), wanted.data_type());
                    Some(format!("its column {name} is {found}, the table's is {wanted}"))
                }
            }
        })
    }

    /// Numbers of the rows, counted from 0, with which a row group begins.
    pub(crate) fn group_starts(&self) -> BTreeSet<u64> {
        let groups = self.metadata().row_groups().iter();
        let ends = groups.scan(0, |end, group| {
            *end += u64::try_from(group.num_rows()).unwrap_or_default();
            Some(*end)
        });
        std::iter::once(0).chain(ends).collect()
    }

    /// Number of row groups.
    pub(crate) fn row_groups(&self) -> usize {
        self.metadata().num_row_groups()
    }

    /// Where the bytes of a row group lie; none where the footer says something impossible.
    pub(crate) fn range(&self, group: usize) -> Option<Range<u64>> {
        let columns = self.metadata().row_groups().get(group)?.columns();
        let mut range: Option<Range<u64>> = None;
        for column in columns {
            let first = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
            let start = u64::try_from(first.min(column.data_page_offset())).ok()?;
            let end = start.checked_add(u64::try_from(column.compressed_size()).ok()?)?;
            range = Some(range.map_or(start..end, |r| r.start.min(start)..r.end.max(end)));
        }
        range
    }

    /// A reader of the rows of one row group, or of all, from bytes that hold them.
    pub(crate) fn reader(
        &self,
        section: Section,
        group: Option<usize>,
        batch_rows: usize,
    ) -> Result<ParquetRecordBatchReader, ParquetError> {
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(section, self.metadata.clone())
            .with_projection(self.projection.clone())
            .with_batch_size(batch_rows);
        let builder = match group {
            Some(group) => builder.with_row_groups(vec![group]),
            None => builder,
        };
        builder.build()
    }
}

/// Whether a column is one leaf that holds nothing but nulls, as far as the footer tells.
fn is_empty(footer: &ParquetMetaData, root: usize) -> bool {
    let described = footer.file_metadata().schema_descr();
    let mut leaves = (0..described.num_columns()).filter(|leaf| described.get_column_root_idx(*leaf) == root);
    let (Some(leaf), None) = (leaves.next(), leaves.next()) else { return false };
    described.column(leaf).max_def_level() == 1
        && footer.row_groups().iter().all(|group| {
            let nulls = group.column(leaf).statistics().and_then(|stats| stats.null_count_opt());
            nulls.is_some_and(|nulls| i64::try_from(nulls) == Ok(group.num_rows()))
        })
}
