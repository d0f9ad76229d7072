//! What can be wrong with a table's log.
//!
//! Each entry is read, and each checkpoint is held against what the entries say. Invariant: a log that
//! was cut at its old end, as a vacuum cuts it, is sound.

use std::collections::{BTreeMap, BTreeSet};

use super::{Kind, Report};
use crate::log::{Change, Listing, TableLog};
use crate::{Result, Snapshot, Table};

/// Looks at entries and checkpoints; gives the paths of all files that they name.
pub(super) async fn verify(
    log: &dyn TableLog,
    listing: &Listing,
    report: &mut Report,
) -> Result<BTreeSet<String>> {
    verify_gaps(listing, report);
    verify_hint(log, listing, report).await?;
    let mut state = State::default();
    let first = listing.entries.keys().chain(listing.checkpoints.keys()).min().copied().unwrap_or_default();
    let last = listing.entries.keys().next_back().copied().unwrap_or(first);
    // Only a log that begins with the table, or a checkpoint, says which files there are.
    state.known = first == 0 && listing.entries.contains_key(&0);
    for version in first..=last {
        if let Some(entry) = listing.entries.get(&version) {
            let at = format!("_delta_log/{}", entry.name);
            match log.changes(version - 1, version).await {
                Ok(changes) => {
                    changes.iter().flatten().for_each(|change| state.apply(change, &at, report));
                }
                Err(error) if error.is_denied() => return Err(error),
                Err(error) => {
                    state.known = false;
                    let todo = "restore it from a backup; versions from it to the next checkpoint cannot be read without it";
                    report.add(Kind::LogEntry, Some(&at), format!("it cannot be read: {error}"), todo);
                }
            }
        } else {
            state.known = false;
        }
        if let Some(files) = listing.checkpoints.get(&version) {
            let name = files.first().map(|file| format!("_delta_log/{}", file.name));
            state.checkpoint(log.replayed(Some(version)).await, version, name.as_deref(), report);
        }
    }
    Ok(state.named)
}

/// What the entries say, one after the other.
#[derive(Default)]
struct State {
    /// Files that are part of the table.
    live: BTreeSet<String>,
    /// Whether `live` is all of them.
    known: bool,
    /// Files that were ever named.
    named: BTreeSet<String>,
    txns: BTreeMap<String, i64>,
}

impl State {
    fn apply(&mut self, change: &Change, at: &str, report: &mut Report) {
        for path in &change.removed {
            if !self.live.remove(path) && self.known {
                let what =
                    format!("it removes {path}, which is not part of the table: two rewrites went together");
                let todo =
                    "compare the rows of the files that the versions around it add; some may stand twice";
                report.add(Kind::LogEntry, Some(at), what, todo);
            }
            self.named.insert(path.clone());
        }
        for path in change.added.keys() {
            self.live.insert(path.clone());
            self.named.insert(path.clone());
        }
        for (app, number) in &change.txns {
            let held = self.txns.entry(app.clone()).or_insert(*number);
            if *number < *held {
                let what = format!("it takes {app} back from {held} to {number}");
                let todo = "two writers share one name; give each a journal or a Kafka group of its own";
                report.add(Kind::Transaction, Some(at), what, todo);
            }
            *held = *number;
        }
    }

    /// Holds a checkpoint against the entries; from then on it says what is part of the table.
    fn checkpoint(
        &mut self,
        read: Result<Option<Snapshot>>,
        version: i64,
        name: Option<&str>,
        report: &mut Report,
    ) {
        let todo = "if all entries before it are there, remove it and the hint `_last_checkpoint` beside it; else restore it from a backup";
        let snapshot = match read {
            Ok(Some(snapshot)) => snapshot,
            Ok(None) => return,
            Err(error) => {
                report.add(Kind::Checkpoint, name, format!("it cannot be read: {error}"), todo);
                return;
            }
        };
        let said: BTreeSet<String> = snapshot.files().iter().map(|file| file.path.clone()).collect();
        if self.known && said != self.live {
            let (more, fewer) = (said.difference(&self.live).count(), self.live.difference(&said).count());
            let what = format!(
                "at version {version} it has {more} files that the entries do not have, and lacks {fewer}"
            );
            report.add(Kind::Checkpoint, name, what, todo);
            return;
        }
        self.named.extend(said.iter().cloned());
        self.live = said;
        self.known = true;
    }
}

/// Entries between the first and the last that are not there.
fn verify_gaps(listing: &Listing, report: &mut Report) {
    let versions: Vec<i64> = listing.entries.keys().copied().collect();
    let checkpoint = listing.checkpoints.keys().next_back().copied();
    for pair in versions.windows(2) {
        let [before, after] = pair else { continue };
        if before + 1 == *after {
            continue;
        }
        let needed = checkpoint.is_none_or(|checkpoint| *after > checkpoint + 1);
        let lost = if needed { "the table cannot be read" } else { "versions in between cannot be read" };
        let what = format!("entries {} to {} are missing: {lost}", before + 1, after - 1);
        report.add(Kind::LogGap, None, what, "restore them from a backup");
    }
    let first = versions.first().copied();
    let leads_up = |checkpoint: &i64| first.is_none_or(|first| first <= checkpoint + 1);
    if first != Some(0) && !listing.checkpoints.keys().any(leads_up) {
        let what = format!(
            "its log begins with entry {} and no checkpoint leads up to it",
            first.unwrap_or_default()
        );
        report.add(Kind::LogGap, None, what, "restore the older entries or a checkpoint from a backup");
    }
}

/// The hint must lead to a checkpoint that is there.
async fn verify_hint(log: &dyn TableLog, listing: &Listing, report: &mut Report) -> Result<()> {
    let Some(version) = log.hinted_checkpoint().await? else {
        return Ok(());
    };
    if !listing.checkpoints.contains_key(&version) {
        let what = format!("it names a checkpoint of version {version}, which is not there");
        let todo = "remove the file: it is only a hint, and the next checkpoint makes it anew";
        report.add(Kind::Checkpoint, Some("_delta_log/_last_checkpoint"), what, todo);
    }
    Ok(())
}

/// Columns that are not as the description has them.
pub(super) fn verify_columns(table: &Table, snapshot: &Snapshot, report: &mut Report) {
    let schema = table.schema();
    let unknown = snapshot.unknown_columns(schema);
    if !unknown.is_empty() {
        let what =
            format!("it has columns that this version of Plimsoll does not know: {}", unknown.join(", "));
        let todo = "use the newer version that added them; this one reads and appends, and rewrites nothing";
        report.add(Kind::Unknown, None, what, todo);
    }
    for column in &schema.columns {
        let Some((found, _)) = snapshot.definition().columns.get(&column.name) else { continue };
        let wanted = column.data_type.delta();
        let same = match wanted.as_str() {
            Some(name) => name == found,
            None => serde_json::from_str::<serde_json::Value>(found).is_ok_and(|found| found == wanted),
        };
        if !same {
            let what = format!("column {} is {found}, its description says {wanted}", column.name);
            let todo = "use the descriptions that the table was made with, or a new lake";
            report.add(Kind::Columns, None, what, todo);
        }
    }
}
