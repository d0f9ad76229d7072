//! What the lake asks of a table's log: the narrow waist behind which the table format lives.
//!
//! Conflict rules, retries and idempotence are [`crate::Table`]'s; a log only reads versions and writes
//! the next one. Invariant of every implementation: [`TableLog::commit`] makes exactly the version
//! after its base, or fails and changes nothing.

use std::collections::BTreeMap;
use std::fmt::Debug;

use async_trait::async_trait;

use crate::{Commit, Result, Snapshot};

/// Log of one table.
#[async_trait]
pub trait TableLog: Debug + Send + Sync {
    /// Makes the table, empty, unless it exists. Of several that try at once one makes it and all
    /// succeed. Columns that the description has and the table lacks are added, as nulls.
    async fn create(&self) -> Result<()>;

    /// The table at a version, or at its latest; none where it does not exist.
    async fn snapshot(&self, version: Option<i64>) -> Result<Option<Snapshot>>;

    /// The same, by reading the log anew from the checkpoint before it: what is in memory does not
    /// count.
    async fn replayed(&self, version: Option<i64>) -> Result<Option<Snapshot>>;

    /// Makes the version after `base`.
    ///
    /// # Errors
    /// [`crate::Error::Conflict`] where that version exists; nothing is changed then.
    async fn commit(&self, base: &Snapshot, commit: &Commit) -> Result<i64>;

    /// What each version after `after` up to `until` changed, oldest first; none where the log does
    /// not reach back that far.
    async fn changes(&self, after: i64, until: i64) -> Result<Option<Vec<Change>>>;

    /// Writes the state at a version in one file, so that readers need not replay the log.
    async fn checkpoint(&self, version: i64) -> Result<()>;

    /// The version that the log's hint for readers names as the last checkpoint, where there is one.
    async fn hinted_checkpoint(&self) -> Result<Option<i64>>;

    /// What lies in the log now.
    async fn listing(&self) -> Result<Listing>;

    /// Removes one thing from the log, by the name that [`TableLog::listing`] gave; that it is gone
    /// already is no error.
    async fn remove(&self, name: &str) -> Result<()>;
}

/// What lies in a log: entries and checkpoints by version, oldest first.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    /// The entry of each version.
    pub entries: BTreeMap<i64, LogFile>,
    /// The files (one, or its parts) that a version's checkpoint consists of.
    pub checkpoints: BTreeMap<i64, Vec<LogFile>>,
}

/// A file of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFile {
    /// Its name within the log.
    pub name: String,
    /// Length in bytes.
    pub size: u64,
    /// When it was written, milliseconds since 1970.
    pub modified_ms: i64,
}

/// What one version changed.
#[derive(Debug, Clone, Default)]
pub struct Change {
    /// Version that it made.
    pub version: i64,
    /// Files added, by path, with whether their rows were new.
    pub added: BTreeMap<String, bool>,
    /// Paths of the files removed.
    pub removed: Vec<String>,
    /// Transactions taken.
    pub txns: Vec<(String, i64)>,
}
