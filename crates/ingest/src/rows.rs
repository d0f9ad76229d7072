//! Rows on their way into the lake: decoded and in memory, then in files that nobody sees yet.
//!
//! When they are written and committed is the flusher's decision. Invariant: each row that was added is
//! in memory or in one file.

use arrow::array::RecordBatch;

use crate::budget::Reservation;
use crate::tables::{Files, Tables};

/// The rows of one lane of the flusher.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    spans: Vec<RecordBatch>,
    quarantined: Vec<RecordBatch>,
    memory: Vec<Reservation>,
    /// Bytes of what is in memory.
    pub(crate) bytes: usize,
    /// What was written.
    pub(crate) files: Files,
    /// Rows of `spans`.
    pub(crate) stored: u64,
    /// Rows of `quarantine`.
    pub(crate) quarantined_rows: u64,
}

impl Rows {
    pub(crate) fn add_spans(&mut self, rows: RecordBatch) {
        if rows.num_rows() > 0 {
            self.bytes += rows.get_array_memory_size();
            self.stored += rows.num_rows() as u64;
            self.spans.push(rows);
        }
    }

    pub(crate) fn add_quarantined(&mut self, rows: RecordBatch) {
        if rows.num_rows() > 0 {
            self.bytes += rows.get_array_memory_size();
            self.quarantined_rows += rows.num_rows() as u64;
            self.quarantined.push(rows);
        }
    }

    /// Keeps the memory that rows were counted under until they are in a file.
    pub(crate) fn keep(&mut self, memory: Reservation) {
        self.memory.push(memory);
    }

    /// Turns the rows in memory into files.
    ///
    /// # Errors
    /// The lake takes no file; the rows stay in memory.
    pub(crate) async fn write(&mut self, tables: &Tables) -> Result<(), plimsoll_lake::Error> {
        if !self.spans.is_empty() {
            self.files.spans.extend(tables.write_spans(&self.spans).await?);
            self.spans.clear();
        }
        if !self.quarantined.is_empty() {
            self.files.quarantine.extend(tables.write_quarantine(&self.quarantined).await?);
            self.quarantined.clear();
        }
        self.memory.clear();
        self.bytes = 0;
        Ok(())
    }
}
