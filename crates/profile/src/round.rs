//! A round of jobs: everything that new spans change, re-made, and nothing else.
//!
//! New spans are those in files added since the last round's version of `spans`. They give the runs
//! that are touched; those give days and windows. Each job's rows take the place of the touched ones
//! in one commit that fails if another round was faster. A round that dies half-way is simply run
//! again: what it had replaced is replaced once more. Readers see its work when the row of
//! `snapshots` is there, all tables at once.

use std::{collections::BTreeMap, sync::Arc};

use datafusion::prelude::DataFrame;
use futures::future::try_join_all;
use jiff::Timestamp;
use plimsoll_lake::{Lake, Snapshot, Table};

use crate::{
    error::ProfileError,
    jobs::{Job, Replaces},
    runs::ByRun,
    session::{Reader, SessionFactory},
    slices::Slice,
    snapshot::{self, SnapshotRow, latest_snapshot},
    touched::Touched,
    write::{Made, Writer, Written, write},
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
    let mut jobs = Job::all(&factory.sql)?;
    let by_run = Arc::new(ByRun::out_of(&mut jobs));
    let mut work = Work {
        lake,
        reader: &round.reader,
        touched: &touched,
        all: rebuilt.is_some(),
        done: BTreeMap::new(),
    };
    progress("making runs");
    let slices = Slice::deal(
        &round.reader,
        round.stored_spans(),
        factory.limits.spans_a_slice(),
        touched.parameters(),
    )
    .await?;
    work.make_runs(&by_run, slices, factory.limits.workers()).await?;
    for wave in waves(&jobs) {
        progress(&wave.iter().map(|job| job.makes.as_str()).collect::<Vec<_>>().join(", "));
        work.run(&jobs, wave).await?;
    }
    let mut versions = round.versions.clone();
    versions.extend(work.done.iter().map(|(table, written)| (table.clone(), written.snapshot.version())));
    let rows = work.done.iter().map(|(table, written)| (table.clone(), written.rows)).collect();
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

/// Jobs in order, in parts of which none reads what another of the same part makes: those are planned
/// together, month by month.
fn waves(mut jobs: &[Job]) -> Vec<&[Job]> {
    let mut waves = Vec::new();
    while !jobs.is_empty() {
        let reads = |at: &usize| {
            let made = jobs[..*at].iter().filter(|job| job.replaces != Replaces::View);
            made.into_iter().any(|job| jobs[*at].names(&job.makes))
        };
        let (wave, later) = jobs.split_at((1..jobs.len()).find(reads).unwrap_or(jobs.len()));
        waves.push(wave);
        jobs = later;
    }
    waves
}

/// The jobs that make tables.
fn with_tables(jobs: &[Job]) -> Vec<&Job> {
    jobs.iter().filter(|job| job.replaces != Replaces::View).collect()
}

/// Jobs at work.
struct Work<'a> {
    lake: &'a Lake,
    reader: &'a Reader,
    touched: &'a Touched,
    /// Whether everything is replaced.
    all: bool,
    /// What was done, by table.
    done: BTreeMap<String, Written>,
}

impl Work<'_> {
    /// Makes runs and what belongs to them.
    async fn make_runs(
        &mut self,
        by_run: &Arc<ByRun>,
        slices: Vec<Slice>,
        at_once: usize,
    ) -> Result<(), ProfileError> {
        let bases = self.bases(by_run.unfolded()).await?;
        let made = by_run.make(self.lake, self.reader, slices, at_once, self.touched.parameters()).await?;
        for ((job, base), made) in by_run.unfolded().iter().zip(bases).zip(made) {
            self.replace(job, base, made).await?;
        }
        Ok(())
    }

    /// Runs a wave of `jobs`.
    async fn run(&mut self, jobs: &[Job], wave: &[Job]) -> Result<(), ProfileError> {
        let tables = with_tables(wave);
        let bases = self.bases(wave).await?;
        let frames = self.plans(jobs, wave).await?;
        // One after the other: every operator of every job has its share of the memory.
        for ((job, base), frames) in tables.into_iter().zip(bases).zip(frames) {
            let made = write(job, &base.0, frames).await?;
            self.replace(job, base, made).await?;
        }
        Ok(())
    }

    /// The plans of a wave's tables, each in as many parts as it is made in.
    async fn plans(&self, jobs: &[Job], wave: &[Job]) -> Result<Vec<Vec<DataFrame>>, ProfileError> {
        let tables = with_tables(wave);
        let views: Vec<&Job> = jobs.iter().filter(|job| job.replaces == Replaces::View).collect();
        let mut plans = vec![Vec::new(); tables.len()];
        for (windows, parameters) in self.touched.months()? {
            self.reader.register_rows("touched_windows", windows)?;
            for view in &views {
                let statement = self.reader.plan_with(&view.file, &view.sql, &parameters).await?;
                self.reader.register_view(&view.makes, statement)?;
            }
            for (job, parts) in tables.iter().zip(&mut plans) {
                if parts.is_empty() || job.replaces == Replaces::TouchedWindows {
                    parts.push(self.reader.plan_with(&job.file, &job.sql, &parameters).await?);
                }
            }
        }
        Ok(plans)
    }

    /// The jobs' tables as they are before anything is written.
    async fn bases(&self, jobs: &[Job]) -> Result<Vec<(Table, Snapshot)>, ProfileError> {
        let mut bases = Vec::with_capacity(jobs.len());
        for job in with_tables(jobs) {
            let table = self.lake.table(&job.makes).await?;
            let snapshot = table.snapshot().await?;
            bases.push((table, snapshot));
        }
        Ok(bases)
    }

    /// Commits what a job made, and shows it to later jobs.
    async fn replace(&mut self, job: &Job, base: (Table, Snapshot), made: Made) -> Result<(), ProfileError> {
        let (table, base) = base;
        let writer = Writer { reader: self.reader, touched: self.touched, job, table: &table };
        let written = writer.replace(&base, made, self.all).await?;
        self.reader.register_files(&job.makes, &table, written.snapshot.files().to_vec())?;
        self.done.insert(job.makes.clone(), written);
        Ok(())
    }
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

    /// Spans in the lake.
    fn stored_spans(&self) -> u64 {
        let files = self.received.get("spans").map(|(_, snapshot)| snapshot.files());
        files.into_iter().flatten().map(|file| file.rows).sum()
    }

    async fn data_until(&self) -> Result<Option<Timestamp>, ProfileError> {
        let batches = self.reader.query("SELECT max(start_time) FROM runs").await?;
        Ok(crate::touched::one_instant(&batches))
    }
}
