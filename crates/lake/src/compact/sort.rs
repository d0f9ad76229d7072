//! Files as they were flushed become sorted ones: as many as fit in memory at a time.
//!
//! While the rows of one group are sorted and encoded, those of the next are read. Invariant: a group's
//! rows are those of its files, no more and no fewer; a file that is too large for one is in several.

use std::collections::{BTreeMap, VecDeque};

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow::compute::interleave;
use arrow::row::{RowConverter, Rows as Keys, SortField};

use crate::output::Output;
use crate::read::Rows;
use crate::{DataFile, Order, Result, Table, TableSchema, batch};

/// Files that are read at once.
const READERS: usize = 8;

/// Rows of a batch as it is read: small files come as one.
const READ_ROWS: usize = 16 * 1024;

/// Rows that are put in order and encoded at once.
const WRITE_ROWS: usize = 16 * 1024;

/// As many rows as fit in memory.
pub(super) struct Group {
    rows: Vec<RecordBatch>,
    /// Files whose last rows are among them.
    files: Vec<DataFile>,
    /// Whether the next group goes on with a file of which some rows are here.
    in_the_middle: bool,
}

/// A group that was written.
pub(super) struct Written {
    pub(super) file: Option<DataFile>,
    /// Like [`Group::files`].
    pub(super) from: Vec<DataFile>,
    /// Like [`Group::in_the_middle`].
    pub(super) in_the_middle: bool,
}

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
        let mut group = Group { rows: Vec::new(), files: Vec::new(), in_the_middle: false };
        let mut held = 0;
        while held < self.memory {
            while self.open.len() < READERS
                && let Some(file) = self.left.pop_front()
            {
                let rows = self.table.rows(&file, READ_ROWS);
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
                group.rows.push(batch);
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

impl Group {
    /// Writes the rows in the table's order as one file; for a thread that may block.
    pub(super) fn write(
        self,
        table: &Table,
        partition: &BTreeMap<String, Option<String>>,
    ) -> Result<Written> {
        let rows = self.rows.iter().map(|batch| batch.num_rows() as u64).sum();
        let file = if rows == 0 { None } else { Some(self.write_rows(table, partition, rows)?) };
        Ok(Written { file, from: self.files, in_the_middle: self.in_the_middle })
    }

    fn write_rows(
        &self,
        table: &Table,
        partition: &BTreeMap<String, Option<String>>,
        rows: u64,
    ) -> Result<DataFile> {
        let order = self.order(table.schema())?;
        let mut output = Output::begin(table, partition.clone(), Order::Sorted, rows)?;
        let batches: Vec<&RecordBatch> = self.rows.iter().collect();
        for part in order.chunks(WRITE_ROWS) {
            output.write(&pick(table.schema(), &batches, part)?)?;
        }
        output.finish()
    }

    /// Where the rows are (batch, row), in the table's order. Ties keep the order in which they came, so
    /// that the same rows give the same file.
    fn order(&self, schema: &TableSchema) -> Result<Vec<(usize, usize)>> {
        let places = self.rows.iter().enumerate();
        let places = places.flat_map(|(at, batch)| (0..batch.num_rows()).map(move |row| (at, row)));
        let Some(mut keyed) = Sorter::new(schema)? else {
            return Ok(places.collect());
        };
        let keys: Vec<Keys> = self.rows.iter().map(|batch| keyed.keys(batch)).collect::<Result<_>>()?;
        let mut order: Vec<_> =
            places.filter_map(|(at, row)| Some((keys.get(at)?.row(row), (at, row)))).collect();
        order.sort_unstable();
        Ok(order.into_iter().map(|(_, place)| place).collect())
    }
}

/// Makes keys of rows that compare as the table's `sort_by` does, nulls first.
pub(crate) struct Sorter<'a> {
    schema: &'a TableSchema,
    converter: RowConverter,
}

impl<'a> Sorter<'a> {
    /// None where the table has no order.
    pub(crate) fn new(schema: &'a TableSchema) -> Result<Option<Self>> {
        if schema.sort_by.is_empty() {
            return Ok(None);
        }
        let columns = schema.sort_by.iter().filter_map(|name| schema.column(name));
        let fields = columns.map(|column| SortField::new(column.data_type.arrow())).collect();
        let converter = RowConverter::new(fields).map_err(|e| batch::encode_error(schema, e))?;
        Ok(Some(Self { schema, converter }))
    }

    pub(crate) fn keys(&mut self, rows: &RecordBatch) -> Result<Keys> {
        let columns = self.schema.sort_by.iter().filter_map(|name| rows.column_by_name(name).cloned());
        let columns: Vec<ArrayRef> = columns.collect();
        self.converter.convert_columns(&columns).map_err(|e| batch::encode_error(self.schema, e))
    }
}

/// Rows by their places (batch, row).
pub(super) fn pick(
    schema: &TableSchema,
    batches: &[&RecordBatch],
    places: &[(usize, usize)],
) -> Result<RecordBatch> {
    let wrong = |e| batch::encode_error(schema, e);
    let arrow = schema.arrow_in_file();
    let columns = arrow.fields().iter().enumerate().map(|(at, field)| {
        let columns: Vec<&dyn Array> = batches.iter().map(|batch| batch.column(at).as_ref()).collect();
        if columns.iter().all(|column| column.null_count() == column.len()) {
            return Ok(new_null_array(field.data_type(), places.len()));
        }
        interleave(&columns, places)
    });
    let columns = columns.collect::<std::result::Result<Vec<_>, _>>().map_err(wrong)?;
    let rows = RecordBatchOptions::new().with_row_count(Some(places.len()));
    RecordBatch::try_new_with_options(arrow, columns, &rows).map_err(wrong)
}
