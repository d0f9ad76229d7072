//! The log as Delta writes it, through `deltalake-core`.
//!
//! Taken from the library: the replay of a log from its checkpoint, checkpoints, clean-up, and the
//! atomic write of an entry. Done here: the step from a version to the next (so that a poll reads only
//! what is new) and the transactions of a version, which the library gives one by one. Conflict rules
//! and retries are [`crate::Table`]'s; the library's own are not used, because they let two stale
//! rewrites through.
//!
//! Invariant: tables are of reader version 1 and writer version 2, which every engine reads; one that
//! asks for more is refused, not misread.

mod actions;
mod log_store;
mod replay;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use deltalake_core::DeltaTable;
use deltalake_core::kernel::Action;
use deltalake_core::kernel::transaction::TransactionError;
use deltalake_core::logstore::{CommitOrBytes, LogStoreRef};
use futures::TryStreamExt;
use object_store::{ObjectStore, ObjectStoreExt};
use uuid::Uuid;

use crate::log::{Change, Listing, LogFile, TableLog};
use crate::{Commit, Error, Result, Snapshot, TableSchema};

/// Past versions kept in memory: those that readers are pinned to.
const PINNED: usize = 4;

/// Attempts to add new columns while other writers are first.
const ATTEMPTS: u32 = 10;

/// Writer version of the protocol that this module writes.
const WRITER: i32 = 2;

/// Attempts to write an entry whose fate the store does not tell, and the wait before the second.
const UNCERTAIN: (u32, Duration) = (4, Duration::from_millis(25));

/// Log of one Delta table.
pub(crate) struct DeltaLog {
    schema: Arc<TableSchema>,
    logs: LogStoreRef,
    known: Mutex<Known>,
}

/// What is in memory, so that a poll reads only what is new and a pinned version is replayed once.
#[derive(Default)]
struct Known {
    latest: Option<Snapshot>,
    /// Versions asked for by number, the last one asked for at the end.
    pinned: Vec<Snapshot>,
}

impl std::fmt::Debug for DeltaLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DeltaLog({})", self.schema.name)
    }
}

impl DeltaLog {
    /// The log of a table in the lake's store.
    pub(crate) fn new(schema: Arc<TableSchema>, lake: Arc<dyn ObjectStore>) -> Self {
        let logs = log_store::open(&schema.name, lake);
        Self { schema, logs, known: Mutex::default() }
    }

    fn wrong(&self) -> impl Fn(deltalake_core::DeltaTableError) -> Error {
        |source| Error::log(&self.schema.name, source)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the entry of a version; says whether it is there and not another one.
    async fn write_entry(&self, version: i64, entry: bytes::Bytes) -> Result<bool> {
        let at = actions::version_number(version);
        let entry = CommitOrBytes::LogBytes(entry);
        match self.logs.write_commit_entry(at, entry, Uuid::new_v4()).await {
            Ok(()) => Ok(true),
            Err(TransactionError::VersionAlreadyExists(_)) => Ok(false),
            Err(TransactionError::ObjectStore { source }) => {
                let doing = format!("writing version {version} of table {}", self.schema.name);
                Err(Error::store(doing)(source))
            }
            Err(other) => Err(Error::log(&self.schema.name, other)),
        }
    }

    /// Writes a commit's entry, and finds out what became of it where the store does not tell.
    ///
    /// A conditional put is not repeated by the store's client once it may have arrived, and one that it
    /// does repeat finds the name taken by itself. So whose entry is there is asked of the entry, and
    /// the same bytes under the same name are offered again: they can count once only.
    async fn settle(&self, version: i64, id: Uuid, entry: &bytes::Bytes) -> Result<bool> {
        let (attempts, mut wait) = UNCERTAIN;
        let mut attempt = 1;
        loop {
            let failed = match self.write_entry(version, entry.clone()).await {
                Ok(true) => return Ok(true),
                Ok(false) => None,
                Err(error) => Some(error),
            };
            match (replay::entry(&self.schema, &self.logs, version).await, failed) {
                (Ok(Some(found)), _) => return Ok(actions::is_of(&found, id)),
                (_, None) => return Ok(false),
                (_, Some(error)) if attempt >= attempts || error.is_denied() => return Err(error),
                _ => {}
            }
            tokio::time::sleep(wait).await;
            (attempt, wait) = (attempt + 1, wait * 3);
        }
    }

    /// Adds the columns that the description has gained to the table; says whether there is one.
    async fn widen(&self) -> Result<bool> {
        for _ in 0..ATTEMPTS {
            let Some(loaded) = replay::load(&self.schema, &self.logs, None).await? else {
                return Ok(false);
            };
            let version = loaded.snapshot.version();
            self.known().keep(None, loaded.snapshot);
            let Some(entry) = actions::widened(&self.schema, &loaded.metadata)? else {
                return Ok(true);
            };
            if self.write_entry(version + 1, entry).await? {
                return Ok(true);
            }
        }
        Err(Error::Contended { table: self.schema.name.clone(), attempts: ATTEMPTS })
    }
}

impl Known {
    /// The newest version in memory that is not newer than asked for.
    fn nearest(&self, version: Option<i64>) -> Option<Snapshot> {
        let fits = |s: &&Snapshot| version.is_none_or(|v| s.version() <= v);
        self.pinned.iter().chain(&self.latest).filter(fits).max_by_key(|s| s.version()).cloned()
    }

    /// Keeps a snapshot: as the latest, or as the version that was asked for.
    fn keep(&mut self, asked: Option<i64>, snapshot: Snapshot) {
        if asked.is_none() {
            self.latest = Some(snapshot);
            return;
        }
        self.pinned.retain(|s| s.version() != snapshot.version());
        self.pinned.push(snapshot);
        if self.pinned.len() > PINNED {
            self.pinned.remove(0);
        }
    }
}

#[async_trait]
impl TableLog for DeltaLog {
    async fn create(&self) -> Result<()> {
        if !self.widen().await? {
            self.write_entry(0, actions::creation(&self.schema)).await?;
            self.widen().await?;
        }
        Ok(())
    }

    async fn snapshot(&self, version: Option<i64>) -> Result<Option<Snapshot>> {
        let nearest = self.known().nearest(version);
        let stepped = match nearest {
            Some(from) => replay::step(&self.schema, &self.logs, from, version).await?,
            None => None,
        };
        let snapshot = match stepped {
            Some(snapshot) => snapshot,
            None => match replay::load(&self.schema, &self.logs, version).await? {
                Some(loaded) => loaded.snapshot,
                None => return Ok(None),
            },
        };
        self.known().keep(version, snapshot.clone());
        Ok(Some(snapshot))
    }

    async fn replayed(&self, version: Option<i64>) -> Result<Option<Snapshot>> {
        Ok(replay::load(&self.schema, &self.logs, version).await?.map(|loaded| loaded.snapshot))
    }

    async fn commit(&self, base: &Snapshot, commit: &Commit) -> Result<i64> {
        let version = base.version() + 1;
        let writer = base.definition().writer;
        if writer > WRITER {
            let reason = format!(
                "it asks for Delta writer version {writer}, of which Plimsoll knows {WRITER}; a newer version or another engine has changed it, so write with that"
            );
            return Err(Error::Unsupported { table: self.schema.name.clone(), reason });
        }
        if !self.settle(version, commit.id, &actions::entry(&self.schema, base, commit)?).await? {
            let reason = format!("version {version} exists");
            return Err(Error::Conflict { table: self.schema.name.clone(), reason });
        }
        let after = replay::after(base, version, &commit.remove, &commit.add, &commit.txns);
        self.known().keep(None, after);
        Ok(version)
    }

    async fn changes(&self, after: i64, until: i64) -> Result<Option<Vec<Change>>> {
        let Some(entries) = replay::entries(&self.schema, &self.logs, after + 1..=until).await? else {
            return Ok(None);
        };
        let changes = (after + 1..).zip(entries).map(|(version, actions)| {
            let mut change = Change { version, ..Change::default() };
            for action in actions {
                match action {
                    Action::Add(add) => drop(change.added.insert(add.path, add.data_change)),
                    Action::Remove(remove) => change.removed.push(remove.path),
                    Action::Txn(txn) => change.txns.push((txn.app_id, txn.version)),
                    _ => {}
                }
            }
            change
        });
        Ok(Some(changes.collect()))
    }

    async fn checkpoint(&self, version: i64) -> Result<()> {
        let mut table = DeltaTable::new(Arc::clone(&self.logs));
        table.load_version(actions::version_number(version)).await.map_err(self.wrong())?;
        deltalake_core::checkpoints::create_checkpoint(&table, None).await.map_err(self.wrong())
    }

    async fn hinted_checkpoint(&self) -> Result<Option<i64>> {
        let at = self.logs.log_path().clone().join("_last_checkpoint");
        let hint = match self.logs.object_store(None).get(&at).await {
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            Ok(hint) => hint.bytes().await,
            Err(error) => Err(error),
        };
        let wrong = Error::store(format!("reading {at} of {}", self.schema.name));
        let hint: serde_json::Value = serde_json::from_slice(&hint.map_err(wrong)?).unwrap_or_default();
        // What is no hint names no version that could be there.
        Ok(Some(hint["version"].as_i64().unwrap_or(-1)))
    }

    async fn listing(&self) -> Result<Listing> {
        let store = self.logs.object_store(None);
        let files: Vec<_> = store
            .list(Some(self.logs.log_path()))
            .try_collect()
            .await
            .map_err(Error::store(format!("listing the log of {}", self.schema.name)))?;
        let mut listing = Listing::default();
        for meta in files {
            let Some(name) = meta.location.filename() else { continue };
            let file = LogFile {
                name: name.to_owned(),
                size: meta.size,
                modified_ms: meta.last_modified.timestamp_millis(),
            };
            if let Some(version) = replay::checkpoint_version(name) {
                listing.checkpoints.entry(version).or_default().push(file);
            } else if let Some(version) = replay::entry_version(name) {
                listing.entries.insert(version, file);
            }
        }
        Ok(listing)
    }

    async fn remove(&self, name: &str) -> Result<()> {
        let at = self.logs.log_path().clone().join(name);
        match self.logs.object_store(None).delete(&at).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(Error::store(format!("removing {at} of {}", self.schema.name))(error)),
        }
    }
}
