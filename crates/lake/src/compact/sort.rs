//! Files as they were flushed become sorted ones: as many as fit in memory at a time.
//!
//! While the rows of one group are sorted and encoded, those of the next are read. Texts stay where they
//! were read, and views of them are moved. Invariant: a group's
//! rows are those of its files, no more and no fewer; a file that is too large for one is in several.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, new_null_array};
use arrow::compute::interleave;
use arrow::datatypes::{FieldRef, Schema};
use arrow::row::{RowConverter, Rows as Keys, SortField};

use crate::output::Output;
use crate::parquet_file::ROW_GROUP_ROWS;
use crate::read::Rows;
use crate::{DataFile, Result, Table, TableSchema, batch};

/// Files that are read at once.
const READERS: usize = 8;

/// Rows of a batch as it is read: small files come as one.
const READ_ROWS: usize = 16 * 1024;

/// As many rows as fit in memory.
pub(super) struct Group {
    pub(super) rows: GroupRows,
    /// Files whose last rows are among them.
    pub(super) files: Vec<DataFile>,
    /// Whether the next group goes on with a file of which some rows are here.
    pub(super) in_the_middle: bool,
}

/// The rows of a group, in the batches in which they were read.
pub(super) struct GroupRows(Vec<RecordBatch>);

/// Reads files of one partition group by group.
pub(super) struct Groups {
    table: Table,
    /// Bytes of decoded rows from which on a group is full.
    memory: usize,
    left: VecDeque<DataFile>,
    open: VecDeque<(DataFile, Rows)>,
}

impl Groups {
    pub(super) fn new(table: &Table, files: Vec<DataFile>, memory: usize) -> Self {
        Self { table: table.clone(), memory, left: files.into(), open: VecDeque::new() }
    }

    /// The next group, or none where all files have been read.
    pub(super) async fn next(&mut self) -> Result<Option<Group>> {
        let mut group = Group { rows: GroupRows(Vec::new()), files: Vec::new(), in_the_middle: false };
        let mut held = 0;
        while held < self.memory {
            while self.open.len() < READERS
                && let Some(file) = self.left.pop_front()
            {
                let rows = self.table.moving_rows(&file, READ_ROWS);
                self.open.push_back((file, rows));
            }
            let Some((file, mut rows)) = self.open.pop_front() else { break };
            group.in_the_middle = true;
            while held < self.memory {
                let Some(batch) = rows.next().await else {
                    group.in_the_middle = false;
                    break;
                };
                let batch = batch?;
                held += batch.get_array_memory_size();
                group.rows.0.push(batch);
            }
            if group.in_the_middle {
                self.open.push_front((file, rows));
            } else {
                group.files.push(file);
            }
        }
        Ok(Some(group).filter(|group| !group.files.is_empty() || group.in_the_middle))
    }
}

impl GroupRows {
    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|batch| batch.num_rows() == 0)
    }

    /// Writes the rows in the table's order; for a thread that may block.
    pub(super) fn write(&self, schema: &TableSchema, output: &mut Output) -> Result<()> {
        let order = self.order(schema)?;
        let groups = order.len().div_ceil(ROW_GROUP_ROWS).max(1);
        for places in order.chunks(order.len().div_ceil(groups).max(1)) {
            output.write(places.len(), |at| self.column(schema, at, places))?;
        }
        Ok(())
    }

    /// The values of a column at places (batch, row).
    fn column(&self, schema: &TableSchema, at: usize, places: &[(usize, usize)]) -> Result<ArrayRef> {
        let arrow = schema.arrow_viewed();
        let field = arrow.field(at);
        let held: Vec<Option<&ArrayRef>> =
            self.0.iter().map(|batch| batch.column_by_name(field.name())).collect();
        if held.iter().all(Option::is_none) {
            return Ok(new_null_array(field.data_type(), places.len()));
        }
        let filled: Vec<ArrayRef> = std::iter::zip(&self.0, held)
            .map(|(batch, held)| {
                held.map_or_else(|| new_null_array(field.data_type(), batch.num_rows()), Arc::clone)
            })
            .collect();
        let columns: Vec<&dyn Array> = filled.iter().map(AsRef::as_ref).collect();
        interleave(&columns, places).map_err(|e| batch::encode_error(schema, e))
    }

    /// Where the rows are (batch, row), in the table's order. Ties keep the order in which they came, so
    /// that the same rows give the same file.
    fn order(&self, schema: &TableSchema) -> Result<Vec<(usize, usize)>> {
        let places = self.0.iter().enumerate();
        let places = places.flat_map(|(at, batch)| (0..batch.num_rows()).map(move |row| (at, row)));
        let Some(mut keyed) = Sorter::new(schema, &schema.arrow_viewed())? else {
            return Ok(places.collect());
        };
        let keys: Vec<Keys> = self.0.iter().map(|batch| keyed.keys(batch)).collect::<Result<_>>()?;
        let mut order: Vec<_> =
            places.filter_map(|(at, row)| Some((keys.get(at)?.row(row), (at, row)))).collect();
        order.sort_unstable();
        Ok(order.into_iter().map(|(_, place)| place).collect())
    }
}

/// Makes keys of rows that compare as the table's `sort_by` does, nulls first.
pub(crate) struct Sorter<'a> {
    schema: &'a TableSchema,
    by: Vec<FieldRef>,
    converter: RowConverter,
}

impl<'a> Sorter<'a> {
    /// For rows in the types of `arrow`; none where the table has no order.
    pub(crate) fn new(schema: &'a TableSchema, arrow: &Schema) -> Result<Option<Self>> {
        let by = schema.sort_by.iter().filter_map(|name| arrow.fields().find(name));
        let by: Vec<FieldRef> = by.map(|(_, field)| Arc::clone(field)).collect();
        if by.is_empty() {
            return Ok(None);
        }
        let fields = by.iter().map(|field| SortField::new(field.data_type().clone())).collect();
        let converter = RowConverter::new(fields).map_err(|e| batch::encode_error(schema, e))?;
        Ok(Some(Self { schema, by, converter }))
    }

    /// The keys of rows; a column that they lack is null.
    pub(crate) fn keys(&mut self, rows: &RecordBatch) -> Result<Keys> {
        let columns = self.by.iter().map(|field| {
            let held = rows.column_by_name(field.name());
            held.map_or_else(|| new_null_array(field.data_type(), rows.num_rows()), Arc::clone)
        });
        let columns: Vec<ArrayRef> = columns.collect();
        self.converter.convert_columns(&columns).map_err(|e| batch::encode_error(self.schema, e))
    }
}
