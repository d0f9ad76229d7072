//! A round of jobs: everything that new spans change, re-made, and nothing else.
//!
//! New spans are those in files added since the last round's version of `spans`. They give the runs
//! that are touched; those give days and windows. Each job's rows take the place of the touched ones
//! in one commit that fails if another round was faster. A round that dies half-way is simply run
//! again: what it had replaced is replaced once more. Readers see its work when the row of
//! `snapshots` is there, all tables at once.

use std::collections::BTreeMap;

use futures::future::try_join_all;
use jiff::Timestamp;
use plimsoll_lake::{Lake, Snapshot, Table};

use crate::{
    error::ProfileError,
    jobs::{Job, Replaces},
    session::{Reader, SessionFactory},
    snapshot::{self, SnapshotRow, latest_snapshot},
    touched::Touched,
    write::{Assembled, Writer},
};

/// Tables that hold what was received; all others are made by jobs.
const RECEIVED: [&str; 2] = ["spans", "quarantine"];
/// Tables that no job makes and no round pins.
pub(crate) const UNPINNED: [&str; 2] = ["plans", "snapshots"];

/// What a round did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoundReport {
    /// Number of the round that readers see now; 0 where there has been none yet.
    pub lake_version: i64,
    /// Whether this round changed anything.
    pub changed: bool,
    /// Why everything was re-made, where it was.
    pub rebuilt: Option<&'static str>,
    /// Runs re-made.
    pub runs: u64,
    /// Rows written, by table.
    pub rows: BTreeMap<String, u64>,
}

/// What a round makes anew, beside what new spans touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remake {
    /// Nothing else.
    Nothing,
    /// The runs that started in a half-open time.
    Started(Timestamp, Timestamp),
    /// All tables from all spans.
    All,
}

/// Runs every job over what is new and what `remake` names. `progress` is told of each step.
///
/// # Errors
/// SQL or a table that fails, or [`ProfileError::Overtaken`] where another round finished meanwhile.
#[tracing::instrument(name = "round of jobs", skip_all)]
pub async fn run_round(
    lake: &Lake,
    factory: &SessionFactory,
    remake: Remake,
    progress: &(dyn Fn(&str) + Sync),
) -> Result<RoundReport, ProfileError> {
    let last = latest_snapshot(lake, factory).await?;
    let sql_sha256 = factory.sql.digest();
    let rebuilt = match &last {
        None => Some("first round"),
        Some(_) if remake == Remake::All => Some("asked for"),
        Some(row) if row.sql_sha256 != sql_sha256 => Some("the SQL changed"),
        Some(row) if row.policy_sha256 != factory.policy.digest() => {
            Some("the catalog or the match rules changed")
        }
        Some(_) => None,
    };
    let since = last.as_ref().filter(|_| rebuilt.is_none());
    let round = Round::start(lake, factory).await?;
    progress("finding what is new");
    let Some(touched) = Touched::find(&round.reader, &round.received, since, remake, factory).await? else {
        return Ok(RoundReport {
            lake_version: last.map_or(0, |row| row.lake_version),
            changed: false,
            rebuilt: None,
            runs: 0,
            rows: BTreeMap::new(),
        });
    };
    let mut versions = round.versions.clone();
    let mut rows = BTreeMap::new();
    let jobs = Job::all(&factory.sql)?;
    let mut assembled = Vec::new();
    for (at, job) in jobs.iter().enumerate() {
        progress(&format!("{} ({} of {})", job.makes, at + 1, jobs.len()));
        let frame = round.reader.plan_with(&job.file, &job.sql, touched.parameters()).await?;
        if job.replaces == Replaces::ForTheRound {
            assembled.push(Assembled::keep(&round.reader, job, frame).await?);
            continue;
        }
        let table = lake.table(&job.makes).await?;
        let writer = Writer { reader: &round.reader, touched: &touched, job, table: &table };
        let written = writer.replace(frame, rebuilt.is_some()).await?;
        round.reader.register_files(&job.makes, &table, written.snapshot.files().to_vec())?;
        versions.insert(job.makes.clone(), written.snapshot.version());
        rows.insert(job.makes.clone(), written.rows);
    }
    let row = SnapshotRow {
        lake_version: last.as_ref().map_or(1, |row| row.lake_version + 1),
        finished_at: Timestamp::now(),
        watermark: touched.watermark(),
        data_until: round.data_until().await?,
        catalog_sha256: factory.policy.catalog.sha256().to_owned(),
        policy_sha256: factory.policy.digest().to_owned(),
        sql_sha256,
        versions,
    };
    snapshot::append(lake, &row).await?;
    Ok(RoundReport { lake_version: row.lake_version, changed: true, rebuilt, runs: touched.runs(), rows })
}

/// The session of a round: every table as it is now.
struct Round {
    reader: Reader,
    received: BTreeMap<String, (Table, Snapshot)>,
    /// Version of every table that a round pins, as it was at the start.
    versions: BTreeMap<String, i64>,
}

impl Round {
    async fn start(lake: &Lake, factory: &SessionFactory) -> Result<Self, ProfileError> {
        let reader = Reader::bare(lake, factory)?;
        let (mut received, mut versions) = (BTreeMap::new(), BTreeMap::new());
        let opened = lake.schemas().iter().map(async |described| {
            let table = lake.table(&described.name).await?;
            let snapshot = table.snapshot().await?;
            Ok::<_, ProfileError>((described.name.as_str(), table, snapshot))
        });
        for (name, table, snapshot) in try_join_all(opened).await? {
            reader.register_files(name, &table, snapshot.files().to_vec())?;
            if !UNPINNED.contains(&name) {
                versions.insert(name.to_owned(), snapshot.version());
            }
            if RECEIVED.contains(&name) {
                received.insert(name.to_owned(), (table, snapshot));
            }
        }
        Ok(Self { reader, received, versions })
    }

    async fn data_until(&self) -> Result<Option<Timestamp>, ProfileError> {
        let batches = self.reader.query("SELECT max(start_time) FROM runs").await?;
        Ok(crate::touched::one_instant(&batches))
    }
}
