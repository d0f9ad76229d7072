//! Retention: days that are too old leave the table, whole.
//!
//! From which day on rows are kept is the caller's to say. The files stay where they are until
//! [`Table::vacuum`] finds that no reader can need them. Invariant: a partition goes whole, in one
//! commit, and the table says from then on which day its rows start at.

use jiff::civil::Date;

use crate::stats::{day_number, days_since_1970};
use crate::{Error, Result, Table};

/// Transaction whose version is the first day that a table still holds, in days since 1970: what starts
/// before it cannot be made again from this table.
pub const RETAINED_FROM_APP: &str = "plimsoll/retained_from";

/// Attempts while other rewrites are first.
const ATTEMPTS: u32 = 10;

/// What a retention removed from a table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retained {
    /// Files.
    pub files: usize,
    /// Rows in them.
    pub rows: u64,
    /// Bytes of them, which a vacuum gives back later.
    pub bytes: u64,
}

impl Table {
    /// Removes the partitions of days before `first_kept`. Rows without a day stay, and so does all of a
    /// table without partitions. Where there is nothing to remove, no version is made.
    ///
    /// # Errors
    /// [`Error::Conflict`] where other rewrites came first time and again; nothing is changed then.
    pub async fn retain(&self, first_kept: Date) -> Result<Retained> {
        let Some(by) = self.schema().partition_by.first() else {
            return Ok(Retained::default());
        };
        let first = days_since_1970(first_kept);
        let mut attempt = 0;
        loop {
            let base = self.snapshot().await?;
            let day = |value: &Option<String>| value.as_deref().and_then(day_number);
            let old = base
                .files()
                .iter()
                .filter(|file| file.partition_values.get(by).and_then(day).is_some_and(|day| day < first));
            let old: Vec<_> = old.cloned().collect();
            let done = Retained {
                files: old.len(),
                rows: old.iter().map(|file| file.rows).sum(),
                bytes: old.iter().map(|file| file.size).sum(),
            };
            if old.is_empty() {
                return Ok(done);
            }
            let from = base.txn(RETAINED_FROM_APP).unwrap_or(i64::MIN).max(i64::from(first));
            let txns = [(RETAINED_FROM_APP.to_owned(), from)];
            match self.remove_rows(&base, Vec::new(), old, &txns).await {
                Ok(_) => return Ok(done),
                Err(Error::Conflict { .. }) if attempt < ATTEMPTS => attempt += 1,
                Err(error) => return Err(error),
            }
        }
    }
}
