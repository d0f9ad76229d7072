//! The tables as a round finds them, and what went from them since the last one.
//!
//! A session in which every table stands as it is now. Beside it, under `NAME_before`, the files that the
//! last round left and that are no longer part of the table: a round that died half-way has replaced some,
//! and what it replaced says which days and runs it was about. Invariant: nothing here writes rows.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::try_join_all;
use jiff::Timestamp;
use plimsoll_lake::{DataFile, Error as LakeError, Lake, Snapshot, Table};

use crate::{
    error::ProfileError,
    horizon::{Horizon, retained_from},
    round::{RECEIVED, UNPINNED, is_made_by_jobs},
    session::{Reader, SessionFactory},
    snapshot::SnapshotRow,
    together::texts,
    touched::{one_instant, receipt},
};

/// Transaction by which `spans` and `quarantine` tell that rows were taken out of them, other than by age.
pub(crate) const ERASED_APP: &str = "plimsoll/erased";

/// Tables whose rows say on which days a run did anything.
pub(crate) const ACTED: [&str; 4] = ["runs", "model_calls", "attempts", "tool_calls"];

/// Every table as it is now.
pub(crate) struct Tables {
    /// The session that shows them.
    pub(crate) reader: Reader,
    /// Each table, as it was when the round began: what a commit stands on.
    standing: BTreeMap<String, (Table, Snapshot)>,
    /// What has expired.
    pub(crate) horizon: Horizon,
    /// Whether rows have expired or been erased since the last round.
    pub(crate) fewer: bool,
    /// What was erased since the last round.
    pub(crate) erased: Erased,
}

/// What was taken out of what had been received.
#[derive(Debug, Default)]
pub(crate) struct Erased {
    /// Whether anything was.
    any: bool,
    /// Traces that have lost spans.
    pub(crate) traces: Vec<String>,
    /// Days of receipt of what went.
    pub(crate) days: BTreeSet<i32>,
}

impl Tables {
    /// Opens every table; those that are missing are made. `anew` says that all is made from what is
    /// there now, whatever there was before.
    ///
    /// # Errors
    /// A table that cannot be read, or [`ProfileError::Newer`].
    pub(crate) async fn open(
        lake: &Lake,
        factory: &SessionFactory,
        last: Option<&SnapshotRow>,
        anew: bool,
    ) -> Result<Self, ProfileError> {
        let opened = lake.schemas().iter().map(async |described| {
            let name = described.name.as_str();
            let table = lake.table(name).await.map_err(unfit)?;
            let now = table.snapshot().await?;
            let newer = now.unknown_columns(table.schema());
            if !newer.is_empty() {
                return Err(ProfileError::Newer { table: name.to_owned(), columns: newer.join(", ") });
            }
            let before = match last.and_then(|row| row.versions.get(name)) {
                Some(version) if *version == now.version() => Some(now.clone()),
                Some(version) => match table.snapshot_at(*version).await {
                    Ok(before) => Some(before),
                    Err(error) if anew => {
                        tracing::warn!(table = name, %error, "what the last round left cannot be read");
                        None
                    }
                    Err(error) => return Err(error.into()),
                },
                None => None,
            };
            Ok((name, Found { table, now, before }))
        });
        let found: BTreeMap<&str, Found> = try_join_all(opened).await?.into_iter().collect();
        let reader = Reader::bare(lake, factory)?;
        for (name, found) in &found {
            reader.register_files(name, &found.table, found.now.files().to_vec())?;
            reader.register_files(&format!("{name}_before"), &found.table, found.went())?;
        }
        let erased = Erased::find(&reader, &found).await?;
        let snapshots = |of: fn(&Found) -> Option<&Snapshot>| {
            found.iter().filter_map(move |(name, found)| Some((*name, of(found)?)))
        };
        let horizon = Horizon::of(snapshots(|found| Some(&found.now)));
        let before = Horizon::of(snapshots(|found| found.before.as_ref()));
        let standing = found.into_iter().map(|(name, found)| (name.to_owned(), (found.table, found.now)));
        Ok(Self {
            reader,
            fewer: last.is_some() && (before != horizon || erased.any),
            horizon,
            erased,
            standing: standing.collect(),
        })
    }

    /// A table as it was when the round began.
    ///
    /// # Errors
    /// No table of this name is described.
    pub(crate) fn base(&self, name: &str) -> Result<&(Table, Snapshot), ProfileError> {
        self.standing.get(name).ok_or_else(|| {
            let known = self.standing.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            LakeError::UnknownTable { name: name.to_owned(), known }.into()
        })
    }

    /// The tables that hold what was received.
    pub(crate) fn received(&self) -> impl Iterator<Item = (&str, &Table, &Snapshot)> {
        RECEIVED.iter().filter_map(|name| {
            let (table, snapshot) = self.standing.get(*name)?;
            Some((*name, table, snapshot))
        })
    }

    /// Version of every table that a round pins.
    pub(crate) fn versions(&self) -> BTreeMap<String, i64> {
        let pinned = self.standing.iter().filter(|(name, _)| !UNPINNED.contains(&name.as_str()));
        pinned.map(|(name, (_, snapshot))| (name.clone(), snapshot.version())).collect()
    }

    /// Spans in the lake.
    pub(crate) fn stored_spans(&self) -> u64 {
        self.standing.get("spans").map_or(0, |(_, spans)| spans.rows())
    }

    /// Latest start of a run.
    pub(crate) async fn data_until(&self) -> Result<Option<Timestamp>, ProfileError> {
        Ok(one_instant(&self.reader.query("SELECT max(start_time) FROM runs").await?))
    }
}

/// A table that cannot be used is no loss where jobs make it.
fn unfit(error: LakeError) -> LakeError {
    match error {
        LakeError::Unsupported { table, reason } if is_made_by_jobs(&table) => {
            let reason = format!(
                "{reason}; where no newer version of plimsoll wrote it, remove its folder, and \
                 `plimsoll profile --rebuild` makes it anew"
            );
            LakeError::Unsupported { table, reason }
        }
        other => other,
    }
}

/// A table, now and as the last round left it.
struct Found {
    table: Table,
    now: Snapshot,
    before: Option<Snapshot>,
}

impl Found {
    /// The files that are no longer part of it.
    fn went(&self) -> Vec<DataFile> {
        let before = self.before.as_ref().map(Snapshot::files).unwrap_or_default();
        before.iter().filter(|file| self.now.file(&file.path).is_none()).cloned().collect()
    }

    /// The files that were not part of it.
    fn came(&self) -> Vec<DataFile> {
        let known = |file: &DataFile| self.before.as_ref().is_some_and(|b| b.file(&file.path).is_some());
        self.now.files().iter().filter(|file| !known(file)).cloned().collect()
    }
}

impl Erased {
    async fn find(reader: &Reader, found: &BTreeMap<&str, Found>) -> Result<Self, ProfileError> {
        let mut erased = Self::default();
        for name in RECEIVED {
            let Some(found) = found.get(name) else { continue };
            let Some(before) = &found.before else { continue };
            if before.txn(ERASED_APP) == found.now.txn(ERASED_APP) {
                continue;
            }
            erased.any = true;
            // What has only expired is no loss to the runs that were made of it.
            let first = retained_from(&found.now).unwrap_or(i32::MIN);
            let mut went = found.went();
            went.retain(|file| receipt(file).is_none_or(|day| day >= first));
            erased.days.extend(went.iter().filter_map(receipt));
            if name == "spans" {
                reader.register_files("went", &found.table, went)?;
                reader.register_files("came", &found.table, found.came())?;
                let fewer = "SELECT w.trace_id
                    FROM (SELECT trace_id, count(*) AS spans FROM went GROUP BY trace_id) w
                    LEFT JOIN (SELECT trace_id, count(*) AS spans FROM came GROUP BY trace_id) c
                      ON c.trace_id = w.trace_id
                    WHERE w.spans > coalesce(c.spans, 0)";
                erased.traces = texts(&reader.query(fewer).await?);
            }
        }
        Ok(erased)
    }
}
