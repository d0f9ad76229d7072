//! A table at one version: which files hold its rows, and which transactions it has taken.
//!
//! Plain data; how it is found is the log's business ([`crate::TableLog`]), how rows are read from the
//! files is left to the reader.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::stats::FileStats;

/// A table at one version; cheap to clone.
#[derive(Debug, Clone)]
pub struct Snapshot {
    version: i64,
    files: Arc<Vec<DataFile>>,
    txns: Arc<BTreeMap<String, i64>>,
}

impl Snapshot {
    pub(crate) fn new(version: i64, mut files: Vec<DataFile>, txns: BTreeMap<String, i64>) -> Self {
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Self { version, files: Arc::new(files), txns: Arc::new(txns) }
    }

    /// Version of the table, from 0.
    pub fn version(&self) -> i64 {
        self.version
    }

    /// Files that hold the table's rows, by path.
    pub fn files(&self) -> &[DataFile] {
        &self.files
    }

    /// One live file by its path.
    pub fn file(&self, path: &str) -> Option<&DataFile> {
        let at = self.files.binary_search_by(|file| file.path.as_str().cmp(path)).ok()?;
        self.files.get(at)
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.files.iter().map(|file| file.rows).sum()
    }

    /// Latest version of a transaction that the table has taken.
    pub fn txn(&self, app: &str) -> Option<i64> {
        self.txns.get(app).copied()
    }

    /// Latest version of every transaction, by name.
    pub fn txns(&self) -> &BTreeMap<String, i64> {
        &self.txns
    }
}

/// One Parquet file of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct DataFile {
    /// Path within the table's folder.
    pub path: String,
    /// Length in bytes.
    pub size: u64,
    /// Values of the partition columns, `YYYY-MM-DD` or null; the file itself does not hold them.
    pub partition_values: BTreeMap<String, Option<String>>,
    /// Rows.
    pub rows: u64,
    /// Bounds and nulls by column.
    pub stats: FileStats,
    /// When it was written, milliseconds since 1970.
    pub modified_ms: i64,
}

/// A change of a table, committed whole or not at all.
#[derive(Debug, Clone, Default)]
pub struct Commit {
    /// Files whose rows appear.
    pub add: Vec<DataFile>,
    /// Files whose rows disappear.
    pub remove: Vec<DataFile>,
    /// Transactions, by name, that the table takes with it.
    pub txns: Vec<(String, i64)>,
    /// Whether the set of rows changes; false where files are only merged or sorted.
    pub data_change: bool,
    /// What it is, for the table's history: `WRITE`, `OPTIMIZE`, ...
    pub operation: String,
}
