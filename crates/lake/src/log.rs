//! What the lake asks of a table's log: the narrow waist behind which the table format lives.
//!
//! Conflict rules, retries and idempotence are [`crate::Table`]'s; a log only reads versions and writes
//! the next one. Invariant of every implementation: [`TableLog::commit`] makes exactly the version
//! after its base, or fails and changes nothing.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

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

    /// Removes files that no version younger than `retention` needs, and log entries that have
    /// expired.
    async fn vacuum(&self, retention: Duration) -> Result<Vacuumed>;
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
}

/// What a clean-up removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Vacuumed {
    /// Data files.
    pub files: usize,
    /// Entries of the log.
    pub log_entries: usize,
}
