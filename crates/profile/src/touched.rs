//! What a round must re-make: the runs that new spans belong to, and the days and windows they lie in.
//!
//! Also the runs that were open and whose acceptance window has passed by the watermark: they become
//! orphans. The watermark is the latest receipt, so a replay of old telemetry ages nothing. And the runs
//! of traces that were erased. Invariant: a run of which spans have expired is not made anew, since what
//! is left of it would make another run.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use arrow::{
    array::{Array, AsArray, Date32Array, RecordBatch},
    datatypes::{DataType, Date32Type, Field, Schema, TimestampMicrosecondType},
};
use datafusion::{common::ScalarValue, error::DataFusionError};
use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use plimsoll_lake::DataFile;

use crate::{
    error::ProfileError,
    horizon::LOOKBACK_DAYS,
    pruning::date,
    round::{Asked, Remake},
    session::{Reader, SessionFactory},
    snapshot::SnapshotRow,
    tables::{ACTED, Tables},
    together::{Together, texts},
    windows::{DAY_MICROS, Windows, day_date},
};

/// What a round re-makes.
#[derive(Debug)]
pub(crate) struct Touched {
    runs: u64,
    watermark: Option<Timestamp>,
    /// Days (UTC) on which the touched runs did anything, and days of receipt.
    days: BTreeSet<i32>,
    windows: Windows,
    zone: TimeZone,
    /// Days (UTC) on which touched runs of the last round started.
    stale_days: BTreeSet<i32>,
    expired: Expired,
    parameters: Parameters,
}

/// Values for the `$name` parameters of jobs.
pub(crate) type Parameters = BTreeMap<&'static str, ScalarValue>;

/// Runs of which spans have expired.
#[derive(Debug, Default)]
struct Expired {
    /// Those among the touched: they are not made.
    unmade: Arc<HashSet<String>>,
    /// Days on which those started that stand when all else is made anew; none where there are none.
    kept_days: Option<BTreeSet<i32>>,
}

impl Touched {
    /// Finds it, and registers `touched_traces`, `touched_runs`, `kept_runs` and `touched_days` with the
    /// session; none where nothing is new. Without `since`, everything is new.
    pub(crate) async fn find(
        tables: &Tables,
        since: Option<&SnapshotRow>,
        asked: &Asked<'_>,
        factory: &SessionFactory,
    ) -> Result<Option<Self>, ProfileError> {
        let reader = &tables.reader;
        let mut received_days = new_rows(tables, since).await?;
        received_days.extend(&tables.erased.days);
        let newest = one_instant(&reader.query("SELECT max(received_at) FROM new_spans").await?);
        let watermark = newest.max(since.and_then(|row| row.watermark));

        reader.register_view("known_runs", reader.plan(KNOWN_RUNS).await?)?;
        let mut ids = due(reader, watermark, asked.remake, factory.policy.acceptance_window).await?;
        let forgotten = forgotten(tables, asked).await?;
        ids.extend(forgotten.iter().chain(&tables.erased.traces).cloned());
        let mut together = Together::find(reader, ids).await?;
        if together.is_empty() && received_days.is_empty() && since.is_some() {
            return Ok(None);
        }
        together.register(reader)?;
        let expired = Expired::find(tables, &mut together, &forgotten, since.is_none()).await?;

        let known = reader
            .query(
                "SELECT DISTINCT start_day, coalesce(CAST(first_received AS DATE), DATE '1970-01-01') AS day
                 FROM known_runs
                 WHERE run_id IN (SELECT run_id FROM touched_runs)",
            )
            .await?;
        let stale_days = days(&known, 0);
        let spans_from = days(&known, 1).into_iter().chain(received_days.iter().copied()).min().unwrap_or(0);
        let mut all_days = acted(reader, spans_from).await?;
        all_days.extend(received_days);
        // What is not made from spans again says itself when it acted.
        if !forgotten.is_empty() {
            all_days.extend(acted_before(reader, "WHERE run_id IN (SELECT run_id FROM touched_runs)").await?);
        }
        if since.is_none() && tables.horizon.spans().is_some() {
            all_days.extend(acted_before(reader, "").await?);
            all_days.extend(days(&reader.query("SELECT DISTINCT start_day FROM quality").await?, 0));
        }

        let zone = &factory.policy.time_zone;
        let windows = Windows::over(&all_days, zone);
        let mut touched = Self {
            runs: together.groups(),
            watermark,
            windows,
            zone: zone.clone(),
            days: all_days,
            stale_days,
            expired,
            parameters: BTreeMap::new(),
        };
        touched.set_parameters(spans_from, tables.horizon.spans(), factory.policy.acceptance_window);
        reader.register_rows("touched_days", day_rows(&touched.days)?)?;
        Ok(Some(touched))
    }

    fn set_parameters(&mut self, spans_from: i32, kept_from: Option<i32>, acceptance: SignedDuration) {
        let first = self.days.first().copied().unwrap_or(0);
        let last = self.days.last().copied().unwrap_or(0);
        let day = |days: i32| ScalarValue::Date32(Some(days));
        let at = |micros: i64| ScalarValue::TimestampMicrosecond(Some(micros), Some("UTC".into()));
        let nanos = i64::try_from(acceptance.as_nanos()).unwrap_or(i64::MAX);
        self.parameters = BTreeMap::from([
            ("spans_from_day", day(spans_from)),
            ("spans_kept_from", day(kept_from.unwrap_or(0))),
            ("spans_kept_from_time", at(i64::from(kept_from.unwrap_or(0)) * DAY_MICROS)),
            ("lookback_day", day(first - LOOKBACK_DAYS)),
            ("from_time", at(i64::from(first) * DAY_MICROS)),
            ("to_time", at((i64::from(last) + 1) * DAY_MICROS)),
            ("watermark", at(self.watermark.unwrap_or(Timestamp::MIN).as_microsecond())),
            ("acceptance_window", ScalarValue::new_interval_mdn(0, 0, nanos)),
        ]);
    }

    /// Runs to re-make.
    pub(crate) fn runs(&self) -> u64 {
        self.runs
    }

    /// Latest receipt seen by this round or an earlier one.
    pub(crate) fn watermark(&self) -> Option<Timestamp> {
        self.watermark
    }

    /// Values for the `$name` parameters of jobs, save those of a month's windows.
    pub(crate) fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The touched windows month by month, so that what profiles hold in memory is bounded: the rows of
    /// `touched_windows`, and the parameters with the days on which a run of these windows can have started.
    pub(crate) fn months(&self) -> Result<Vec<(RecordBatch, Parameters)>, ProfileError> {
        let month = |windows: &Windows| {
            let (from, to) = windows.span_of_days();
            let mut parameters = self.parameters.clone();
            parameters.insert("windows_from_day", ScalarValue::Date32(Some(from)));
            parameters.insert("windows_to_day", ScalarValue::Date32(Some(to)));
            Ok((windows.rows()?, parameters))
        };
        self.windows.by_month(&self.zone).iter().map(month).collect()
    }

    /// Whether a file may hold rows of the last round for touched runs.
    pub(crate) fn may_hold_stale_runs(&self, file: &DataFile) -> bool {
        start_day(file).is_none_or(|day| self.stale_days.contains(&day))
    }

    /// Whether a file may hold rows of runs that stand when all others are made anew.
    pub(crate) fn may_hold_kept_runs(&self, file: &DataFile) -> bool {
        self.expired
            .kept_days
            .as_ref()
            .is_some_and(|days| start_day(file).is_none_or(|day| days.contains(&day)))
    }

    /// Runs that are not made from the spans that are left of them.
    pub(crate) fn unmade(&self) -> &Arc<HashSet<String>> {
        &self.expired.unmade
    }

    /// Whether a file is of a touched day.
    pub(crate) fn is_of_touched_day(&self, file: &DataFile) -> bool {
        start_day(file).is_none_or(|day| self.days.contains(&day))
    }

    /// Whether a file is of a day on which a touched window starts.
    pub(crate) fn is_of_touched_window(&self, file: &DataFile) -> bool {
        start_day(file).is_none_or(|day| self.windows.holds_day(day))
    }
}

/// The runs that there are, and those that a round which died half-way has replaced.
pub(crate) const KNOWN_RUNS: &str =
    "SELECT run_id, trace_ids, tenant, start_time, start_day, first_received FROM runs
    UNION ALL
    SELECT run_id, trace_ids, tenant, start_time, start_day, first_received FROM runs_before";

/// The known runs that were made of a trace of `erased_traces`. (Its column is called otherwise than theirs,
/// or the engine would take it for ambiguous.)
pub(crate) const ERASED_RUNS: &str = "SELECT DISTINCT run_id FROM (
      SELECT run_id, unnest(CASE WHEN cardinality(trace_ids) > 0 THEN trace_ids ELSE [run_id] END) AS trace_id
      FROM known_runs
    ) WHERE trace_id IN (SELECT erased_id FROM erased_traces)";

/// Registers `new_spans` and `new_quarantine`, and says on which days they were received.
async fn new_rows(tables: &Tables, since: Option<&SnapshotRow>) -> Result<BTreeSet<i32>, ProfileError> {
    let mut received_days = BTreeSet::new();
    for (name, table, snapshot) in tables.received() {
        let files = match since.and_then(|row| row.versions.get(name)) {
            Some(&version) => table.added_since(version, snapshot).await?,
            None => snapshot.files().to_vec(),
        };
        received_days.extend(files.iter().filter_map(receipt));
        tables.reader.register_files(&format!("new_{name}"), table, files)?;
    }
    Ok(received_days)
}

/// Runs that are due without a new span: those that were open for too long, and those asked for.
async fn due(
    reader: &Reader,
    watermark: Option<Timestamp>,
    remake: Remake,
    acceptance: SignedDuration,
) -> Result<Vec<String>, ProfileError> {
    let aged = watermark.and_then(|mark| mark.checked_sub(acceptance).ok()).unwrap_or(Timestamp::MIN);
    let (from, to) = match remake {
        Remake::Started(from, to) => (from, to),
        Remake::Nothing | Remake::All => (Timestamp::MIN, Timestamp::MIN),
    };
    let runs = reader
        .query(&format!(
            "SELECT run_id FROM runs
             WHERE outcome = 'open' AND coalesce(last_received, start_time) < to_timestamp_micros({})
             UNION
             SELECT run_id FROM runs
             WHERE start_time >= to_timestamp_micros({}) AND start_time < to_timestamp_micros({})",
            aged.as_microsecond(),
            from.as_microsecond(),
            to.as_microsecond()
        ))
        .await?;
    Ok(texts(&runs))
}

/// Runs that are to be as if they had never been: those asked for, and those of erased traces.
async fn forgotten(tables: &Tables, asked: &Asked<'_>) -> Result<BTreeSet<String>, ProfileError> {
    let mut runs: BTreeSet<String> = asked.forgotten.clone();
    if !tables.erased.traces.is_empty() {
        tables.reader.register_texts("erased_traces", "erased_id", &tables.erased.traces)?;
        runs.extend(texts(&tables.reader.query(ERASED_RUNS).await?));
    }
    Ok(runs)
}

/// Days on which spans of the touched traces started and ended.
async fn acted(reader: &Reader, spans_from: i32) -> Result<BTreeSet<i32>, ProfileError> {
    let acted = reader
        .query(&format!(
            "SELECT DISTINCT CAST(start_time AS DATE) AS started,
               CAST(plus_ms(start_time, duration_ms) AS DATE) AS ended
             FROM spans
             WHERE received_day >= {} AND trace_id IN (SELECT trace_id FROM touched_traces)",
            literal(spans_from),
        ))
        .await?;
    Ok(days(&acted, 0).into_iter().chain(days(&acted, 1)).collect())
}

/// Days on which runs acted by what earlier rounds made of them.
async fn acted_before(reader: &Reader, filter: &str) -> Result<BTreeSet<i32>, ProfileError> {
    let mut found = BTreeSet::new();
    for table in ACTED {
        for rows in [table.to_owned(), format!("{table}_before")] {
            let sql = format!(
                "SELECT DISTINCT CAST(start_time AS DATE) AS started,
                   CAST(plus_ms(start_time, duration_ms) AS DATE) AS ended
                 FROM {rows} {filter}"
            );
            let acted = reader.query(&sql).await?;
            found.extend(days(&acted, 0).into_iter().chain(days(&acted, 1)));
        }
    }
    Ok(found)
}

impl Expired {
    /// Takes runs of which spans have expired out of what is read together, unless they are to be
    /// forgotten, and registers `kept_runs`: those that stand when `all` is made anew.
    async fn find(
        tables: &Tables,
        together: &mut Together,
        forgotten: &BTreeSet<String>,
        all: bool,
    ) -> Result<Self, ProfileError> {
        let (reader, mut expired) = (&tables.reader, Self::default());
        let Some(first) = tables.horizon.spans() else {
            return Ok(expired);
        };
        let from = format!("to_timestamp_micros({})", i64::from(first) * DAY_MICROS);
        let gone = format!("(first_received < {from} OR first_received IS NULL AND start_time < {from})");
        let touched = format!(
            "SELECT DISTINCT run_id FROM known_runs
             WHERE run_id IN (SELECT run_id FROM touched_runs) AND {gone}"
        );
        let unmade: HashSet<String> = texts(&reader.query(&touched).await?).into_iter().collect();
        if unmade.iter().any(|run| !forgotten.contains(run)) {
            together.leave(|run| unmade.contains(run) && !forgotten.contains(run));
            together.register(reader)?;
        }
        expired.unmade = Arc::new(unmade);
        if all {
            reader.register_texts("forgotten_runs", "run_id", forgotten)?;
            let kept = format!(
                "SELECT run_id, start_day FROM runs
                 WHERE {gone} AND run_id NOT IN (SELECT run_id FROM forgotten_runs)"
            );
            reader.register_view("kept_runs", reader.plan(&kept).await?)?;
            let started = reader.query("SELECT DISTINCT start_day FROM kept_runs").await?;
            expired.kept_days = Some(days(&started, 0));
        }
        Ok(expired)
    }
}

/// Day on which a file's rows start.
pub(crate) fn start_day(file: &DataFile) -> Option<i32> {
    partition(file, "start_day")
}

/// Day on which a file's rows were received.
pub(crate) fn receipt(file: &DataFile) -> Option<i32> {
    partition(file, "received_day")
}

fn partition(file: &DataFile, column: &str) -> Option<i32> {
    date(file.partition_values.get(column)?.as_deref()?)
}

fn literal(day: i32) -> String {
    format!("DATE '{}'", day_date(day))
}

/// The one instant that a query gave.
pub(crate) fn one_instant(batches: &[RecordBatch]) -> Option<Timestamp> {
    let column = batches.iter().find(|b| b.num_rows() > 0)?.column(0);
    let array = column.as_primitive_opt::<TimestampMicrosecondType>()?;
    let micros = array.is_valid(0).then(|| array.value(0))?;
    Timestamp::from_microsecond(micros).ok()
}

fn days(batches: &[RecordBatch], column: usize) -> BTreeSet<i32> {
    batches
        .iter()
        .filter_map(|batch| batch.column(column).as_primitive_opt::<Date32Type>())
        .flat_map(|array| array.iter().flatten())
        .collect()
}

fn day_rows(days: &BTreeSet<i32>) -> Result<RecordBatch, ProfileError> {
    let schema = Schema::new(vec![Field::new("start_day", DataType::Date32, false)]);
    let column: Date32Array = days.iter().map(|day| Some(*day)).collect();
    Ok(RecordBatch::try_new(Arc::new(schema), vec![Arc::new(column)]).map_err(DataFusionError::from)?)
}
