//! Vacuum: files and log entries that no reader can need any more go away.
//!
//! Ours, not the library's, which knows nothing of the versions that `snapshots` pins. A file stays
//! while it is part of the table as it is, of any version that was the table at some moment of the
//! last `retention`, or of a pinned one. The log stays back to the oldest of these versions and to a
//! checkpoint from which it can be replayed. What no version names (a writer died before its commit, or
//! has not come to it yet) has an age of its own.
//!
//! Invariants: what goes is needed by no version that is kept, so it may be broken off anywhere; the
//! log is cut from its old end only, so it never has a gap.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::stream::{self, StreamExt, TryStreamExt};
use jiff::Timestamp;
use object_store::ObjectMeta;
use object_store::path::Path;

use crate::log::{Change, Listing};
use crate::{Error, Result, Table};

/// What is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vacuum {
    /// How long a version that is no longer the latest can still be read, counted back from the call:
    /// longer than any query takes, and than it takes the caller from asking for pins to calling.
    pub retention: Duration,
    /// How long a file may lie there that no version names: longer than any writer takes from writing it
    /// to its commit, an outage of the store included.
    pub uncommitted: Duration,
    /// Versions that stay readable however old they are: those that `snapshots` pins.
    pub pinned: Vec<i64>,
    /// Only counts what would go.
    pub dry_run: bool,
}

impl Default for Vacuum {
    fn default() -> Self {
        let week = Duration::from_secs(7 * 24 * 60 * 60);
        Self { retention: week, uncommitted: week, pinned: Vec::new(), dry_run: false }
    }
}

/// What a vacuum removed, or would.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Vacuumed {
    /// Data files.
    pub files: usize,
    /// Bytes of them.
    pub bytes: u64,
    /// Entries and checkpoints of the log.
    pub log_entries: usize,
}

impl Table {
    /// Removes what no reader can need any more. May run beside anything, another vacuum included.
    ///
    /// # Errors
    /// [`Error::Log`] where a version that is to be kept cannot be read: nothing is removed then.
    /// [`Error::Store`] where a file cannot be removed: the next run goes on.
    pub async fn vacuum(&self, vacuum: &Vacuum) -> Result<Vacuumed> {
        let cutoff = cutoff(vacuum.retention);
        // What is listed first can only be older than what the log is then found to say.
        let listed = self.data_objects().await?;
        let listing = self.log().listing().await?;
        let Some(oldest_young) = listing.current_at(cutoff) else {
            return Ok(Vacuumed::default());
        };
        let pins = vacuum.pinned.iter().copied().filter(|version| *version < oldest_young);
        let pins: BTreeSet<i64> = pins.chain([oldest_young]).collect();
        // What is older than this may go whether a version names it or not.
        let any = cutoff.min(self::cutoff(vacuum.uncommitted));
        let named = if any < cutoff { self.named(&listing).await? } else { BTreeSet::new() };
        // Asked for last: a file that is committed meanwhile is then needed before it is named.
        let needed = self.needed(&pins).await?;
        let mut done = Vacuumed::default();
        let mut gone = Vec::new();
        for object in listed {
            let path = object.location.to_string();
            let written = object.last_modified.timestamp_millis();
            let old = written < any || written < cutoff && named.contains(path.as_str());
            if old && !needed.contains(path.as_str()) {
                done.files += 1;
                done.bytes += object.size;
                gone.push(object.location);
            }
        }
        let oldest = pins.first().copied().unwrap_or(oldest_young);
        let expired = listing.before(oldest);
        done.log_entries = expired.len();
        if vacuum.dry_run {
            return Ok(done);
        }
        let removed = self.store().delete_stream(stream::iter(gone).map(Ok).boxed());
        removed
            .filter(|outcome| {
                std::future::ready(!matches!(outcome, Err(object_store::Error::NotFound { .. })))
            })
            .try_for_each(|_| std::future::ready(Ok(())))
            .await
            .map_err(Error::store(format!("removing files of table {}", self.schema().name)))?;
        for name in expired {
            self.log().remove(&name).await?;
        }
        // One who was slow to write a checkpoint may have pointed readers back to it since it went.
        let hinted = self.log().hinted_checkpoint().await?;
        let there = self.log().listing().await?.checkpoints;
        if hinted.is_some_and(|version| !there.contains_key(&version)) {
            self.log().remove("_last_checkpoint").await?;
        }
        Ok(done)
    }

    /// What lies in the table's folder besides its log.
    pub(crate) async fn data_objects(&self) -> Result<Vec<ObjectMeta>> {
        let hidden = |meta: &ObjectMeta| {
            let mut below = meta.location.prefix_match(self.root()).into_iter().flatten();
            below.next().is_some_and(|part| part.as_ref().starts_with(['_', '.']))
        };
        self.store()
            .list(Some(self.root()))
            .try_filter(|meta| std::future::ready(!hidden(meta)))
            .try_collect()
            .await
            .map_err(Error::store(format!("listing the files of table {}", self.schema().name)))
    }

    /// Paths, in the lake's store, of all files that a version from the last of `versions` on, or one
    /// of them, holds.
    async fn needed(&self, versions: &BTreeSet<i64>) -> Result<BTreeSet<String>> {
        let mut needed = BTreeSet::new();
        for version in versions {
            let snapshot = self.snapshot_at(*version).await?;
            needed.extend(snapshot.files().iter().map(|file| self.in_lake(&file.path)));
        }
        let from = versions.last().copied().unwrap_or_default();
        for change in self.changes_after(from).await? {
            needed.extend(change.added.keys().map(|path| self.in_lake(path)));
        }
        Ok(needed)
    }

    /// Paths, in the lake's store, of all files that an entry of the log adds or removes.
    async fn named(&self, listing: &Listing) -> Result<BTreeSet<String>> {
        let Some((first, _)) = listing.entries.first_key_value() else {
            return Ok(BTreeSet::new());
        };
        let changes = self.changes_after(first - 1).await?;
        let paths = changes.iter().flat_map(|change| change.added.keys().chain(&change.removed));
        Ok(paths.map(|path| self.in_lake(path)).collect())
    }

    async fn changes_after(&self, version: i64) -> Result<Vec<Change>> {
        let now = self.snapshot().await?.version();
        self.log().changes(version, now).await?.ok_or_else(|| Error::Damaged {
            path: format!("{}/_delta_log", self.root()),
            reason: format!("entries between {version} and {now} are missing"),
        })
    }

    /// A file's path in the lake's store.
    pub(crate) fn in_lake(&self, path: &str) -> String {
        self.root().parts().chain(Path::from(path).parts()).collect::<Path>().to_string()
    }
}

/// The moment, in milliseconds since 1970, that lies a retention back.
fn cutoff(retention: Duration) -> i64 {
    let retention = i64::try_from(retention.as_millis()).unwrap_or(i64::MAX);
    Timestamp::now().as_millisecond().saturating_sub(retention)
}

impl Listing {
    /// The version that was the latest at a moment; the oldest that is there, where all are younger.
    fn current_at(&self, moment_ms: i64) -> Option<i64> {
        let old = self.entries.iter().filter(|(_, entry)| entry.modified_ms < moment_ms);
        let replayable = self.replayable_from()?;
        Some(old.map(|(version, _)| *version).max().unwrap_or(replayable).max(replayable))
    }

    /// The oldest version that can be read.
    pub(crate) fn replayable_from(&self) -> Option<i64> {
        if self.entries.contains_key(&0) {
            return Some(0);
        }
        self.checkpoints.keys().next().copied()
    }

    /// Names of what is needed only for versions before `oldest`, oldest first: all before the last
    /// checkpoint that is not after it.
    fn before(&self, oldest: i64) -> Vec<String> {
        let Some((&checkpoint, _)) = self.checkpoints.range(..=oldest).next_back() else {
            return Vec::new();
        };
        let entries = self.entries.range(..checkpoint).map(|(version, file)| (*version, &file.name));
        let checkpoints = self.checkpoints.range(..checkpoint);
        let checkpoints =
            checkpoints.flat_map(|(version, files)| files.iter().map(move |file| (*version, &file.name)));
        let mut names: Vec<(i64, &String)> = entries.chain(checkpoints).collect();
        names.sort_unstable();
        names.into_iter().map(|(_, name)| name.clone()).collect()
    }
}
