//! A round of jobs: everything that new spans change, re-made, and nothing else.
//!
//! New spans are those in files added since the last round's version of `spans`. They give the runs
//! that are touched; those give days and windows. Each job's rows take the place of the touched ones
//! in one commit that fails if another round was faster. A round that dies half-way is simply run
//! again: what it had replaced is replaced once more. Readers see its work when the row of
//! `snapshots` is there, all tables at once.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use datafusion::prelude::DataFrame;
use jiff::{Timestamp, tz::TimeZone};
use plimsoll_lake::Lake;

use crate::{
    error::ProfileError,
    jobs::{Job, Replaces},
    runs::ByRun,
    session::SessionFactory,
    slices::Slice,
    snapshot::{self, SnapshotRow, latest_snapshot},
    sql_files::SqlFiles,
    tables::Tables,
    touched::Touched,
    write::{Made, Withheld, Writer, Written, write},
};

/// Tables that hold what was received; all others are made by jobs.
pub(crate) const RECEIVED: [&str; 2] = ["spans", "quarantine"];
/// Tables that no job makes and no round pins.
pub(crate) const UNPINNED: [&str; 2] = ["plans", "snapshots"];

/// Whether jobs make a table's rows, so that a rebuild can make them anew.
pub fn is_made_by_jobs(table: &str) -> bool {
    !RECEIVED.contains(&table) && !UNPINNED.contains(&table)
}

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

/// What a round is asked for, beside what is new.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    /// What it makes anew.
    pub(crate) remake: Remake,
    /// Runs whose rows go, though their spans have expired; made anew from what spans there are.
    pub(crate) forgotten: &'a BTreeSet<String>,
}

/// Runs every job over what is new and what `remake` names. `progress` is told of each step.
///
/// # Errors
/// SQL or a table that fails, [`ProfileError::Newer`] where the lake is of a newer version, or
/// [`ProfileError::Overtaken`] where another round finished meanwhile.
pub async fn run_round(
    lake: &Lake,
    factory: &SessionFactory,
    remake: Remake,
    progress: &(dyn Fn(&str) + Sync),
) -> Result<RoundReport, ProfileError> {
    round_asked(lake, factory, Asked { remake, forgotten: &BTreeSet::new() }, progress).await
}

/// [`run_round`] with all that can be asked of it.
#[tracing::instrument(name = "round of jobs", skip_all)]
pub(crate) async fn round_asked(
    lake: &Lake,
    factory: &SessionFactory,
    asked: Asked<'_>,
    progress: &(dyn Fn(&str) + Sync),
) -> Result<RoundReport, ProfileError> {
    let last = latest_snapshot(lake, factory).await?;
    let sql_sha256 = factory.sql.digest();
    let rebuilt = match &last {
        None => Some("first round"),
        Some(_) if asked.remake == Remake::All => Some("asked for"),
        Some(row) if row.sql_sha256 != sql_sha256 => Some("the SQL changed"),
        Some(row) if row.policy_sha256 != factory.policy.digest() => {
            Some("the catalog or the match rules changed")
        }
        Some(_) => None,
    };
    let since = last.as_ref().filter(|_| rebuilt.is_none());
    let tables = Tables::open(lake, factory, last.as_ref(), rebuilt.is_some()).await?;
    progress("finding what is new");
    let Some(touched) = Touched::find(&tables, since, &asked, factory).await? else {
        return unchanged(lake, last, tables).await;
    };
    let mut jobs = Job::all(&factory.sql)?;
    let by_run = Arc::new(ByRun::out_of(&mut jobs));
    let mut work = Work {
        tables: &tables,
        touched: &touched,
        sql: &factory.sql,
        zone: &factory.policy.time_zone,
        all: rebuilt.is_some(),
        done: BTreeMap::new(),
    };
    progress("making runs");
    let slices = Slice::deal(
        &tables.reader,
        tables.stored_spans(),
        factory.limits.spans_a_slice(),
        touched.parameters(),
    )
    .await?;
    work.make_runs(&by_run, slices, factory.limits.workers()).await?;
    for wave in waves(&jobs) {
        progress(&wave.iter().map(|job| job.makes.as_str()).collect::<Vec<_>>().join(", "));
        work.run(&jobs, wave).await?;
    }
    let mut versions = tables.versions();
    versions.extend(work.done.iter().map(|(table, written)| (table.clone(), written.snapshot.version())));
    let rows = work.done.iter().map(|(table, written)| (table.clone(), written.rows)).collect();
    let row = SnapshotRow {
        lake_version: last.as_ref().map_or(1, |row| row.lake_version + 1),
        finished_at: Timestamp::now(),
        watermark: touched.watermark(),
        data_until: tables.data_until().await?,
        catalog_sha256: factory.policy.catalog.sha256().to_owned(),
        policy_sha256: factory.policy.digest().to_owned(),
        sql_sha256,
        versions,
    };
    snapshot::append(lake, &row).await?;
    Ok(RoundReport { lake_version: row.lake_version, changed: true, rebuilt, runs: touched.runs(), rows })
}

/// Ends a round that found nothing new. Where rows have gone since the last, readers and clean-up are told
/// by a row of `snapshots`, or the files would be pinned for ever.
async fn unchanged(
    lake: &Lake,
    last: Option<SnapshotRow>,
    tables: Tables,
) -> Result<RoundReport, ProfileError> {
    let mut report = RoundReport {
        lake_version: last.as_ref().map_or(0, |row| row.lake_version),
        changed: false,
        rebuilt: None,
        runs: 0,
        rows: BTreeMap::new(),
    };
    if let Some(last) = last.filter(|_| tables.fewer) {
        let row = SnapshotRow {
            lake_version: last.lake_version + 1,
            finished_at: Timestamp::now(),
            data_until: tables.data_until().await?,
            versions: tables.versions(),
            ..last
        };
        snapshot::append(lake, &row).await?;
        (report.lake_version, report.changed) = (row.lake_version, true);
    }
    Ok(report)
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
    tables: &'a Tables,
    touched: &'a Touched,
    sql: &'a SqlFiles,
    zone: &'a TimeZone,
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
        let made = by_run.make(self.tables, self.touched, slices, at_once).await?;
        for (job, made) in by_run.unfolded().iter().zip(made) {
            let floor = self.tables.horizon.first_day(&job.makes);
            self.replace(job, made, true, floor).await?;
        }
        Ok(())
    }

    /// Runs a wave of `jobs`.
    async fn run(&mut self, jobs: &[Job], wave: &[Job]) -> Result<(), ProfileError> {
        let frames = self.plans(jobs, wave).await?;
        // One after the other: every operator of every job has its share of the memory.
        for (job, frames) in with_tables(wave).into_iter().zip(frames) {
            let floor = match frames.first() {
                Some(frame) => self.tables.horizon.floor(job, frame.logical_plan(), self.zone)?,
                None => None,
            };
            let withheld = Withheld { runs: Arc::default(), before: floor };
            let (table, _) = self.tables.base(&job.makes)?;
            let made = write(job, table, frames, &withheld).await?;
            self.replace(job, made, false, floor).await?;
        }
        Ok(())
    }

    /// The plans of a wave's tables, each in as many parts as it is made in.
    async fn plans(&self, jobs: &[Job], wave: &[Job]) -> Result<Vec<Vec<DataFrame>>, ProfileError> {
        let (tables, reader) = (with_tables(wave), &self.tables.reader);
        let views: Vec<&Job> = jobs.iter().filter(|job| job.replaces == Replaces::View).collect();
        let mut plans = vec![Vec::new(); tables.len()];
        // What readers see in place of a table is made of what jobs make: jobs see the table.
        for (file, sql) in self.sql.folder("views") {
            let name = file.trim_end_matches(".sql");
            let named = wave.iter().chain(views.iter().copied()).any(|job| job.names(name));
            if named && self.tables.base(name).is_err() {
                reader.view(file, sql).await?;
            }
        }
        for (windows, parameters) in self.touched.months()? {
            reader.register_rows("touched_windows", windows)?;
            for view in &views {
                let statement = reader.plan_with(&view.file, &view.sql, &parameters).await?;
                reader.register_view(&view.makes, statement)?;
            }
            for (job, parts) in tables.iter().zip(&mut plans) {
                if parts.is_empty() || job.replaces == Replaces::TouchedWindows {
                    parts.push(reader.plan_with(&job.file, &job.sql, &parameters).await?);
                }
            }
        }
        Ok(plans)
    }

    /// Commits what a job made, and shows it to later jobs.
    async fn replace(
        &mut self,
        job: &Job,
        made: Made,
        of_spans: bool,
        floor: Option<i32>,
    ) -> Result<(), ProfileError> {
        let (reader, touched, all) = (&self.tables.reader, self.touched, self.all);
        let (table, base) = self.tables.base(&job.makes)?;
        let writer = Writer { reader, touched, job, table, all, of_spans, floor };
        let written = writer.replace(base, made).await?;
        reader.register_files(&job.makes, table, written.snapshot.files().to_vec())?;
        self.done.insert(job.makes.clone(), written);
        Ok(())
    }
}
