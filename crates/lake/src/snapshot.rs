//! A table at one version: which files hold its rows, and which transactions it has taken.
//!
//! Plain data; how it is found is the log's business ([`crate::TableLog`]), how rows are read from the
//! files is left to the reader.

use std::collections::BTreeMap;
use std::sync::Arc;

use uuid::Uuid;

use crate::stats::FileStats;
use crate::{RETAINED_FROM_APP, TableSchema};

/// A table at one version; cheap to clone.
#[derive(Debug, Clone)]
pub struct Snapshot {
    version: i64,
    files: Arc<Vec<DataFile>>,
    txns: Arc<BTreeMap<String, i64>>,
    definition: Arc<Definition>,
}

/// What the log says of the table itself, apart from its files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Definition {
    /// Columns by name: the type in Delta's words, and whether nulls are allowed.
    pub(crate) columns: BTreeMap<String, (String, bool)>,
    /// Version of the protocol that a writer must know.
    pub(crate) writer: i32,
}

impl Snapshot {
    pub(crate) fn new(
        version: i64,
        mut files: Vec<DataFile>,
        txns: BTreeMap<String, i64>,
        definition: Arc<Definition>,
    ) -> Self {
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Self { version, files: Arc::new(files), txns: Arc::new(txns), definition }
    }

    pub(crate) fn definition(&self) -> &Arc<Definition> {
        &self.definition
    }

    /// First day, in days since 1970, that the table still holds; none where no retention has removed
    /// any.
    pub fn retained_from(&self) -> Option<i32> {
        self.txn(RETAINED_FROM_APP).and_then(|day| i32::try_from(day).ok())
    }

    /// Columns of the table that its description lacks: a newer version of Plimsoll has added them.
    /// Their values are not read here, so a file that is written anew would lose them.
    pub fn unknown_columns(&self, schema: &TableSchema) -> Vec<String> {
        let unknown = self.definition.columns.keys().filter(|name| schema.column(name).is_none());
        unknown.cloned().collect()
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
    pub stats: Arc<FileStats>,
    /// When it was written, milliseconds since 1970.
    pub modified_ms: i64,
}

/// Start of the name of a file whose row groups are each in the table's order: the name outlives every
/// log.
pub(crate) const SORTED: &str = "sorted-";

impl DataFile {
    /// Whether its rows are known to be in the table's order (`sort_by`) in each of its row groups.
    pub fn is_sorted(&self) -> bool {
        self.path.rsplit('/').next().is_some_and(|name| name.starts_with(SORTED))
    }
}

/// A change of a table, committed whole or not at all.
#[derive(Debug, Clone)]
pub struct Commit {
    /// What tells it from every other commit, so that it is recognised in the log when the answer to
    /// its maker was lost. A fresh one for each change, the same for each attempt to make it.
    pub id: Uuid,
    /// Files whose rows appear.
    pub add: Vec<DataFile>,
    /// Files whose rows disappear.
    pub remove: Vec<DataFile>,
    /// Transactions, by name, that the table takes with it.
    pub txns: Vec<(String, i64)>,
    /// Whether the set of rows changes; false where files are only merged or sorted.
    pub data_change: bool,
    /// Whether the files added hold only rows of those removed: some rows go, none is new.
    pub only_fewer: bool,
    /// What it is, for the table's history: `WRITE`, `OPTIMIZE`, ...
    pub operation: String,
}

impl Default for Commit {
    fn default() -> Self {
        Self {
            id: Uuid::new_v4(),
            add: Vec::new(),
            remove: Vec::new(),
            txns: Vec::new(),
            data_change: false,
            only_fewer: false,
            operation: String::new(),
        }
    }
}
