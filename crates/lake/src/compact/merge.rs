//! Sorted files become one sorted file, however large, in bounded memory.
//!
//! A few batches of each input are in memory, and what the encoder has not yet sent. Invariant: the
//! rows come out in the table's order; an input that is not in order is told, not hidden.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use arrow::array::RecordBatch;
use arrow::row::{OwnedRow, Rows as Keys};

use super::sort::{Sorter, pick};
use crate::output::Output;
use crate::read::Rows;
use crate::{DataFile, Error, Order, Result, Table};

/// Rows of a batch of an input.
const READ_ROWS: usize = 4 * 1024;

/// Rows that are encoded at once.
const WRITE_ROWS: usize = 8 * 1024;

/// Inputs of one merger: each costs a row group, as it lies in the file, and some batches.
pub(super) const FAN_IN: usize = 8;

/// Merges sorted files of one partition into one; for a thread that may block, within the runtime.
pub(super) fn merge(table: &Table, files: &[DataFile]) -> Result<Option<DataFile>> {
    let rows = files.iter().map(|file| file.rows).sum();
    let Some(first) = files.first().filter(|_| rows > 0) else { return Ok(None) };
    let mut output = Output::begin(table, first.partition_values.clone(), Order::Sorted, rows)?;
    let mut inputs: Vec<Rows> = files.iter().map(|file| table.rows(file, READ_ROWS)).collect();
    let Some(sorter) = Sorter::new(table.schema())? else {
        for input in &mut inputs {
            while let Some(batch) = input.blocking_next() {
                output.write(&batch?)?;
            }
        }
        return output.finish().map(Some);
    };
    Merger { table, files, sorter, inputs, open: Vec::new(), heap: BinaryHeap::new() }.run(output).map(Some)
}

struct Merger<'a> {
    table: &'a Table,
    files: &'a [DataFile],
    sorter: Sorter<'a>,
    inputs: Vec<Rows>,
    /// Batches from which rows are still to be taken or have been taken since the last write, in the
    /// order in which they came.
    open: Vec<Batch>,
    /// The next row of each input: its key, the input, and where it is.
    heap: BinaryHeap<Reverse<(OwnedRow, usize, (usize, usize))>>,
}

struct Batch {
    rows: RecordBatch,
    keys: Keys,
    /// Whether all its rows have been taken.
    spent: bool,
}

impl Merger<'_> {
    fn run(mut self, mut output: Output) -> Result<DataFile> {
        for input in 0..self.inputs.len() {
            self.refill(input)?;
        }
        let mut places = Vec::with_capacity(WRITE_ROWS);
        while let Some(Reverse((key, input, (batch, row)))) = self.heap.pop() {
            places.push((batch, row));
            self.advance(input, batch, row + 1, &key)?;
            if places.len() == WRITE_ROWS {
                self.write(&mut output, &mut places)?;
            }
        }
        self.write(&mut output, &mut places)?;
        output.finish()
    }

    /// Puts the row after `last` of an input into the heap.
    fn advance(&mut self, input: usize, batch: usize, row: usize, last: &OwnedRow) -> Result<()> {
        let Some(open) = self.open.get_mut(batch) else { return Ok(()) };
        if row < open.rows.num_rows() {
            let key = open.keys.row(row);
            if key < last.row() {
                return Err(self.unsorted(input));
            }
            self.heap.push(Reverse((key.owned(), input, (batch, row))));
            return Ok(());
        }
        open.spent = true;
        self.refill(input)
    }

    /// Puts the first row of an input's next batch into the heap.
    fn refill(&mut self, input: usize) -> Result<()> {
        let Some(rows) = self.inputs.get_mut(input) else { return Ok(()) };
        while let Some(rows) = rows.blocking_next() {
            let rows = rows?;
            if rows.num_rows() > 0 {
                let keys = self.sorter.keys(&rows)?;
                self.heap.push(Reverse((keys.row(0).owned(), input, (self.open.len(), 0))));
                self.open.push(Batch { rows, keys, spent: false });
                break;
            }
        }
        Ok(())
    }

    /// Writes the rows that were taken, and lets go of the batches that have no others.
    fn write(&mut self, output: &mut Output, places: &mut Vec<(usize, usize)>) -> Result<()> {
        if places.is_empty() {
            return Ok(());
        }
        let batches: Vec<&RecordBatch> = self.open.iter().map(|batch| &batch.rows).collect();
        output.write(&pick(self.table.schema(), &batches, places)?)?;
        places.clear();
        let mut moved = Vec::with_capacity(self.open.len());
        let mut kept = 0;
        for batch in &self.open {
            moved.push(kept);
            kept += usize::from(!batch.spent);
        }
        self.open.retain(|batch| !batch.spent);
        let heap = std::mem::take(&mut self.heap).into_vec();
        let heap = heap.into_iter().map(|Reverse((key, input, (batch, row)))| {
            Reverse((key, input, (moved.get(batch).copied().unwrap_or_default(), row)))
        });
        self.heap = heap.collect();
        Ok(())
    }

    fn unsorted(&self, input: usize) -> Error {
        let path = self.files.get(input).map(|file| self.table.location(file).to_string());
        let reason = "its rows are not in the order that its name says".to_owned();
        Error::Damaged { path: path.unwrap_or_default(), reason }
    }
}
