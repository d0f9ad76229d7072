//! One table: making files count, and saying which are new.
//!
//! Files are written first (`write.rs`) and committed after, so a crash in between leaves nothing
//! visible. The rules by which commits of several writers go together are here; the log ([`TableLog`])
//! only makes the next version or refuses to.
//!
//! Invariants:
//! * [`Table::append`] takes a transaction once. It reads what the table holds and commits on that very
//!   version, so of two writers that offer the same transaction one finds it there.
//! * Of two [`Table::rewrite`]s that started from the same version the second fails, whatever they
//!   touched; a rewrite whose input is no longer live fails too. Appends in between do no harm.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use object_store::ObjectStore;
use object_store::path::Path;
use tokio::sync::Mutex;

use crate::log::TableLog;
use crate::{Commit, DataFile, Error, Result, Snapshot, TableSchema};

/// Transaction that every rewrite takes, so that two of them never go together unseen. (The Delta
/// implementations' own checks pass over removes that change no rows.)
pub const REWRITE_APP: &str = "plimsoll/rewrite";

/// Versions from one checkpoint to the next; a commit that removes as many files makes one at once.
const CHECKPOINT_EVERY: i64 = 50;

/// Attempts to make the next version before giving up; with the waits between them about a minute.
const ATTEMPTS: u32 = 40;

/// What came of an append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Appended {
    /// The rows are in the table as of this version.
    Committed {
        /// Version.
        version: i64,
    },
    /// The table held the transactions already: nothing was changed.
    AlreadyThere,
}

/// One table of a lake; cheap to clone.
#[derive(Debug, Clone)]
pub struct Table(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    schema: Arc<TableSchema>,
    root: Path,
    store: Arc<dyn ObjectStore>,
    log: Arc<dyn TableLog>,
    /// Writers of one process take turns instead of racing.
    turn: Mutex<()>,
}

impl Table {
    pub(crate) fn new(
        schema: Arc<TableSchema>,
        root: Path,
        store: Arc<dyn ObjectStore>,
        log: Arc<dyn TableLog>,
    ) -> Self {
        Self(Arc::new(Inner { schema, root, store, log, turn: Mutex::default() }))
    }

    pub(crate) fn log(&self) -> &Arc<dyn TableLog> {
        &self.0.log
    }

    pub(crate) fn store(&self) -> &Arc<dyn ObjectStore> {
        &self.0.store
    }

    pub(crate) fn shared_schema(&self) -> Arc<TableSchema> {
        Arc::clone(&self.0.schema)
    }

    /// Description of the table. A column that the table got after it was made may be null in it, even
    /// where the description says `required`: older rows have nothing there.
    pub fn schema(&self) -> &TableSchema {
        &self.0.schema
    }

    /// The table's folder, relative to the lake's store.
    pub fn root(&self) -> &Path {
        &self.0.root
    }

    /// Where one of its files lies, relative to the lake's store.
    pub fn location(&self, file: &DataFile) -> Path {
        self.root().parts().chain(Path::from(file.path.as_str()).parts()).collect()
    }

    /// Columns of the table that its description lacks: appends and reads pass them over, and what
    /// would write rows anew is refused.
    ///
    /// # Errors
    /// Like [`Table::snapshot`].
    pub async fn unknown_columns(&self) -> Result<Vec<String>> {
        Ok(self.snapshot().await?.unknown_columns(self.schema()))
    }

    /// The table as it is now.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where the table is gone or uses features that Plimsoll does not know.
    pub async fn snapshot(&self) -> Result<Snapshot> {
        self.0.log.snapshot(None).await?.ok_or_else(|| Error::gone(&self.schema().name))
    }

    /// The table as it was at a version.
    ///
    /// # Errors
    /// [`Error::Log`] where the log does not reach back that far or not up to it.
    pub async fn snapshot_at(&self, version: i64) -> Result<Snapshot> {
        self.0.log.snapshot(Some(version)).await?.ok_or_else(|| Error::gone(&self.schema().name))
    }

    /// Makes the version after `base`, in one attempt and without further checks.
    ///
    /// # Errors
    /// [`Error::Conflict`] where another writer has made it; nothing is changed then.
    pub async fn commit(&self, base: &Snapshot, commit: Commit) -> Result<i64> {
        let version = self.0.log.commit(base, &commit).await?;
        // What a commit of many removals leaves is small, and dear to find out by replay.
        let many = i64::try_from(commit.remove.len()).unwrap_or(i64::MAX) >= CHECKPOINT_EVERY;
        if (many || version % CHECKPOINT_EVERY == 0)
            && let Err(error) = self.0.log.checkpoint(version).await
        {
            // The commit stands; a checkpoint only spares readers work, and the next may succeed.
            tracing::warn!(table = self.schema().name, version, %error, "no checkpoint was made");
        }
        Ok(version)
    }

    /// Makes files count, once: where the table holds any of `txns` in the version given or a newer
    /// one, nothing is changed. Waits and tries again while other writers are first.
    ///
    /// # Errors
    /// [`Error::PartlyThere`] where it holds some of `txns` and not others; [`Error::Contended`] where
    /// others were first for about a minute.
    pub async fn append(&self, files: Vec<DataFile>, txns: &[(String, i64)]) -> Result<Appended> {
        let commit = Commit {
            add: files,
            txns: txns.to_vec(),
            data_change: true,
            operation: "WRITE".to_owned(),
            ..Commit::default()
        };
        let _turn = self.0.turn.lock().await;
        for attempt in 0..ATTEMPTS {
            let base = self.snapshot().await?;
            if commit.is_empty() || commit.is_in(&base) {
                return Ok(Appended::Committed { version: base.version() });
            }
            if self.holds(&base, txns)? {
                return Ok(Appended::AlreadyThere);
            }
            match self.commit(&base, commit.clone()).await {
                Ok(version) => return Ok(Appended::Committed { version }),
                Err(Error::Conflict { .. }) => wait(attempt).await,
                Err(other) => return Err(other),
            }
        }
        Err(self.contended())
    }

    /// Whether the table holds all of the transactions.
    fn holds(&self, base: &Snapshot, txns: &[(String, i64)]) -> Result<bool> {
        let held = |(app, version): &&(String, i64)| base.txn(app).is_some_and(|v| v >= *version);
        match txns.iter().filter(held).count() {
            0 => Ok(false),
            all if all == txns.len() => Ok(true),
            _ => {
                let (app, _) = txns.iter().find(held).cloned().unwrap_or_default();
                let held = base.txn(&app).unwrap_or_default();
                Err(Error::PartlyThere { table: self.schema().name.clone(), app, held })
            }
        }
    }

    /// Replaces files by others. `data_change` is false where the rows stay the same (compaction), so
    /// that [`Table::added_since`] does not take them for new.
    ///
    /// # Errors
    /// [`Error::Conflict`] where, since `base`, there was another rewrite, a file to be removed has
    /// gone, or another writer has taken one of `txns`; [`Error::Unsupported`] where the table has
    /// columns that are not known here ([`Snapshot::unknown_columns`]) and files would take the place
    /// of others. Nothing is changed then.
    pub async fn rewrite(
        &self,
        base: &Snapshot,
        add: Vec<DataFile>,
        remove: Vec<DataFile>,
        txns: &[(String, i64)],
        data_change: bool,
    ) -> Result<i64> {
        let operation = if data_change { "REPLACE" } else { "OPTIMIZE" }.to_owned();
        let commit = Commit { add, remove, txns: txns.to_vec(), data_change, operation, ..Commit::default() };
        self.replace(base, commit).await
    }

    /// Removes rows: files by others that hold the rest of their rows ([`Table::filter`]), so that
    /// [`Table::added_since`] takes none for new.
    ///
    /// # Errors
    /// Like [`Table::rewrite`].
    pub async fn remove_rows(
        &self,
        base: &Snapshot,
        add: Vec<DataFile>,
        remove: Vec<DataFile>,
        txns: &[(String, i64)],
    ) -> Result<i64> {
        let commit = Commit {
            add,
            remove,
            txns: txns.to_vec(),
            data_change: true,
            only_fewer: true,
            operation: "DELETE".to_owned(),
            ..Commit::default()
        };
        self.replace(base, commit).await
    }

    /// Makes a commit that removes files, fenced against every other one.
    async fn replace(&self, base: &Snapshot, mut commit: Commit) -> Result<i64> {
        commit.txns.push((REWRITE_APP.to_owned(), base.version() + 1));
        let _turn = self.0.turn.lock().await;
        for attempt in 0..ATTEMPTS {
            let now = self.snapshot().await?;
            if commit.is_in(&now) {
                return Ok(now.version());
            }
            self.unchanged(base, &now, &commit)?;
            if !commit.add.is_empty() && !commit.remove.is_empty() {
                self.all_columns_known(&now)?;
            }
            match self.commit(&now, commit.clone()).await {
                Ok(version) => return Ok(version),
                Err(Error::Conflict { .. }) => wait(attempt).await,
                Err(other) => return Err(other),
            }
        }
        Err(self.contended())
    }

    /// Fails where something that a rewrite stands on has changed since its base.
    fn unchanged(&self, base: &Snapshot, now: &Snapshot, commit: &Commit) -> Result<()> {
        let conflict = |reason: String| Err(Error::Conflict { table: self.schema().name.clone(), reason });
        if let Some((app, _)) = commit.txns.iter().find(|(app, _)| now.txn(app) != base.txn(app)) {
            return conflict(format!("it took {app} after version {}", base.version()));
        }
        match commit.remove.iter().find(|file| now.file(&file.path).is_none()) {
            Some(file) => conflict(format!("{} is no longer part of it", file.path)),
            None => Ok(()),
        }
    }

    /// Fails where files written anew would lose a column.
    pub(crate) fn all_columns_known(&self, now: &Snapshot) -> Result<()> {
        let unknown = now.unknown_columns(self.schema());
        if unknown.is_empty() {
            return Ok(());
        }
        let reason = format!(
            "a newer version of Plimsoll has added {} to it, which rewriting its rows would lose; do that with the newer version",
            unknown.join(", ")
        );
        Err(Error::Unsupported { table: self.schema().name.clone(), reason })
    }

    fn contended(&self) -> Error {
        Error::Contended { table: self.schema().name.clone(), attempts: ATTEMPTS }
    }

    /// The live files of `until` that hold rows which came after `version`.
    ///
    /// Those are the files added with new rows, and those that a rewrite made from such files: in them
    /// new rows stand beside old ones, and leaving them out would lose the new. A rewrite of older files
    /// alone does not show. Where the log no longer reaches back to `version`, all files are returned.
    ///
    /// # Errors
    /// [`Error::Log`] where the log cannot be read.
    pub async fn added_since(&self, version: i64, until: &Snapshot) -> Result<Vec<DataFile>> {
        if version >= until.version() {
            return Ok(Vec::new());
        }
        let Some(changes) = self.0.log.changes(version, until.version()).await? else {
            return Ok(until.files().to_vec());
        };
        let mut fresh: BTreeSet<&str> = BTreeSet::new();
        for change in &changes {
            let mut held_fresh = false;
            for path in &change.removed {
                held_fresh |= fresh.remove(path.as_str());
            }
            let shown = change.added.iter().filter(|(_, new_rows)| held_fresh || **new_rows);
            fresh.extend(shown.map(|(path, _)| path.as_str()));
        }
        Ok(until.files().iter().filter(|f| fresh.contains(f.path.as_str())).cloned().collect())
    }

    /// Writes the table's state in one file, so that readers need not replay the log.
    ///
    /// # Errors
    /// [`Error::Log`] where it cannot be written; the table is as it was.
    pub async fn checkpoint(&self) -> Result<()> {
        let version = self.snapshot().await?.version();
        self.0.log.checkpoint(version).await
    }
}

impl Commit {
    fn is_empty(&self) -> bool {
        self.add.is_empty() && self.remove.is_empty() && self.txns.is_empty()
    }

    /// Whether it has been made already, though its maker was not told (a lost answer). File names are
    /// made for one commit, so one that is live came with it.
    fn is_in(&self, snapshot: &Snapshot) -> bool {
        self.add.first().is_some_and(|file| snapshot.file(&file.path).is_some())
    }
}

/// Waits before the next attempt: longer each time, up to two seconds, and never as long as the others.
async fn wait(attempt: u32) {
    let most = 2000_u64.min(10_u64 << attempt.min(8));
    let millis = rand::random_range(most / 2..=most);
    tokio::time::sleep(Duration::from_millis(millis)).await;
}
