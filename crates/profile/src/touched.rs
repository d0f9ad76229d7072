//! What a round must re-make: the runs that new spans belong to, and the days and windows they lie in.
//!
//! Also the runs that were open and whose acceptance window has passed by the watermark: they become
//! orphans. The watermark is the latest receipt, so a replay of old telemetry ages nothing.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use arrow::{
    array::{Array, ArrayRef, AsArray, Date32Array, RecordBatch, StringArray, TimestampMicrosecondArray},
    datatypes::{DataType, Date32Type, Field, Schema, TimestampMicrosecondType},
};
use datafusion::{common::ScalarValue, error::DataFusionError};
use jiff::{SignedDuration, Timestamp, ToSpan, civil, tz::TimeZone};
use plimsoll_lake::{DataFile, Snapshot, Table};

use crate::{
    error::ProfileError,
    functions::{instant, local_window},
    pruning::date,
    round::Remake,
    session::{Reader, SessionFactory},
    snapshot::SnapshotRow,
    together::{Together, texts},
};

/// How far back a run that is still in flight may have started, for sweeps of what is in flight.
const LOOKBACK_DAYS: i32 = 3;

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
    parameters: Parameters,
}

/// Values for the `$name` parameters of jobs.
pub(crate) type Parameters = BTreeMap<&'static str, ScalarValue>;

impl Touched {
    /// Finds it, and registers `touched_traces`, `touched_runs` and `touched_days` with the session;
    /// none where nothing is new. Without `since`, everything is new.
    pub(crate) async fn find(
        reader: &Reader,
        received: &BTreeMap<String, (Table, Snapshot)>,
        since: Option<&SnapshotRow>,
        remake: Remake,
        factory: &SessionFactory,
    ) -> Result<Option<Self>, ProfileError> {
        let mut new_files: BTreeMap<&str, Vec<DataFile>> = BTreeMap::new();
        for (name, (table, snapshot)) in received {
            let known = since.and_then(|row| row.versions.get(name));
            let files = match known {
                Some(&version) => table.added_since(version, snapshot).await?,
                None => snapshot.files().to_vec(),
            };
            reader.register_files(&format!("new_{name}"), table, files.clone())?;
            new_files.insert(name, files);
        }
        let acceptance = factory.policy.acceptance_window;
        let newest = one_instant(&reader.query("SELECT max(received_at) FROM new_spans").await?);
        let watermark = newest.max(since.and_then(|row| row.watermark));
        let aged = watermark.and_then(|mark| mark.checked_sub(acceptance).ok()).unwrap_or(Timestamp::MIN);
        let (from, to) = match remake {
            Remake::Started(from, to) => (from, to),
            Remake::Nothing | Remake::All => (Timestamp::MIN, Timestamp::MIN),
        };
        let runs = reader
            .query(&format!(
                "SELECT run_id FROM runs WHERE outcome = 'open' AND last_received < to_timestamp_micros({})
                 UNION
                 SELECT run_id FROM runs
                 WHERE start_time >= to_timestamp_micros({}) AND start_time < to_timestamp_micros({})",
                aged.as_microsecond(),
                from.as_microsecond(),
                to.as_microsecond()
            ))
            .await?;
        let together = Together::find(reader, texts(&runs)).await?;
        let received_days: BTreeSet<i32> = new_files.values().flatten().filter_map(receipt).collect();
        if together.is_empty() && received_days.is_empty() && since.is_some() {
            return Ok(None);
        }
        together.register(reader)?;

        let known = reader
            .query(
                "SELECT DISTINCT start_day, CAST(first_received AS DATE) AS day FROM runs
                 WHERE run_id IN (SELECT run_id FROM touched_runs)",
            )
            .await?;
        let stale_days = days(&known, 0);
        let spans_from = days(&known, 1).into_iter().chain(received_days.iter().copied()).min().unwrap_or(0);
        let acted = reader
            .query(&format!(
                "SELECT DISTINCT CAST(start_time AS DATE) AS started,
                   CAST(plus_ms(start_time, duration_ms) AS DATE) AS ended
                 FROM spans
                 WHERE received_day >= {} AND trace_id IN (SELECT trace_id FROM touched_traces)",
                literal(spans_from),
            ))
            .await?;
        let mut all_days = days(&acted, 0);
        all_days.extend(days(&acted, 1));
        all_days.extend(received_days);

        let zone = &factory.policy.time_zone;
        let windows = Windows::over(&all_days, zone);
        let mut touched = Self {
            runs: together.groups(),
            watermark,
            windows,
            zone: zone.clone(),
            days: all_days,
            stale_days,
            parameters: BTreeMap::new(),
        };
        touched.set_parameters(spans_from, acceptance);
        reader.register_rows("touched_days", day_rows(&touched.days)?)?;
        Ok(Some(touched))
    }

    fn set_parameters(&mut self, spans_from: i32, acceptance: SignedDuration) {
        let first = self.days.first().copied().unwrap_or(0);
        let last = self.days.last().copied().unwrap_or(0);
        let day = |days: i32| ScalarValue::Date32(Some(days));
        let at = |micros: i64| ScalarValue::TimestampMicrosecond(Some(micros), Some("UTC".into()));
        let nanos = i64::try_from(acceptance.as_nanos()).unwrap_or(i64::MAX);
        self.parameters = BTreeMap::from([
            ("spans_from_day", day(spans_from)),
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

    /// Whether a file is of a touched day.
    pub(crate) fn is_of_touched_day(&self, file: &DataFile) -> bool {
        start_day(file).is_none_or(|day| self.days.contains(&day))
    }

    /// Whether a file is of a day on which a touched window starts.
    pub(crate) fn is_of_touched_window(&self, file: &DataFile) -> bool {
        start_day(file).is_none_or(|day| self.windows.holds_day(day))
    }
}

const DAY_MICROS: i64 = 86_400_000_000;

fn start_day(file: &DataFile) -> Option<i32> {
    partition(file, "start_day")
}

fn receipt(file: &DataFile) -> Option<i32> {
    partition(file, "received_day")
}

fn partition(file: &DataFile, column: &str) -> Option<i32> {
    date(file.partition_values.get(column)?.as_deref()?)
}

/// Local days and months, each with its start, end and the local date of its start.
#[derive(Debug)]
struct Windows(BTreeMap<(&'static str, i64), (i64, i32)>);

impl Windows {
    /// The windows that runs of these UTC days lie in. Rows are replaced by the date on which their
    /// window starts, so a month brings the day window of its first, and a first brings its month.
    fn over(days: &BTreeSet<i32>, zone: &TimeZone) -> Self {
        let mut windows = Self(BTreeMap::new());
        // A UTC day touches two local days, whichever way the zone lies.
        let instants = days.iter().flat_map(|&day| {
            let start = i64::from(day) * DAY_MICROS;
            [start, start + DAY_MICROS - 1]
        });
        for micros in instants {
            for grain in ["day", "month"] {
                windows.add(zone, grain, micros);
            }
        }
        let starts: Vec<i64> = windows.0.keys().map(|(_, from)| *from).collect();
        for from in starts {
            windows.add(zone, "day", from);
            if civil_day(zone, from).is_some_and(|date| date.day() == 1) {
                windows.add(zone, "month", from);
            }
        }
        windows
    }

    fn add(&mut self, zone: &TimeZone, grain: &'static str, micros: i64) {
        if let Some((from, to)) = local_window(zone, grain, micros)
            && let Some(date) = civil_day(zone, from)
        {
            self.0.insert((grain, from), (to, days_of(date)));
        }
    }

    /// Whether one of them starts on this local date.
    fn holds_day(&self, day: i32) -> bool {
        self.0.values().any(|(_, start)| *start == day)
    }

    /// The windows of each month; one part without windows where there are none.
    fn by_month(&self, zone: &TimeZone) -> Vec<Self> {
        let mut months: BTreeMap<i64, Self> = BTreeMap::new();
        for (&(grain, from), &window) in &self.0 {
            let month = local_window(zone, "month", from).map_or(from, |(start, _)| start);
            months.entry(month).or_insert_with(|| Self(BTreeMap::new())).0.insert((grain, from), window);
        }
        if months.is_empty() { vec![Self(BTreeMap::new())] } else { months.into_values().collect() }
    }

    /// First and last UTC day on which a run of these windows can have started.
    fn span_of_days(&self) -> (i32, i32) {
        let from = self.0.keys().map(|(_, from)| *from).min().unwrap_or(0);
        let to = self.0.values().map(|(to, _)| *to).max().unwrap_or(0);
        ((from.div_euclid(DAY_MICROS)) as i32, (to.div_euclid(DAY_MICROS)) as i32)
    }

    fn rows(&self) -> Result<RecordBatch, ProfileError> {
        let at = |micros: Vec<i64>| -> ArrayRef {
            Arc::new(TimestampMicrosecondArray::from(micros).with_timezone("UTC"))
        };
        let columns: Vec<ArrayRef> = vec![
            Arc::new(self.0.keys().map(|(grain, _)| Some(*grain)).collect::<StringArray>()),
            at(self.0.keys().map(|(_, from)| *from).collect()),
            at(self.0.values().map(|(to, _)| *to).collect()),
            Arc::new(self.0.values().map(|(_, day)| Some(*day)).collect::<Date32Array>()),
        ];
        let schema = Schema::new(vec![
            Field::new("grain", DataType::Utf8, false),
            Field::new("window_start", instant(), false),
            Field::new("window_end", instant(), false),
            Field::new("start_day", DataType::Date32, false),
        ]);
        Ok(RecordBatch::try_new(Arc::new(schema), columns).map_err(DataFusionError::from)?)
    }
}

fn civil_day(zone: &TimeZone, micros: i64) -> Option<civil::Date> {
    Some(Timestamp::from_microsecond(micros).ok()?.to_zoned_datetime(zone.clone()).date())
}

fn days_of(date: civil::Date) -> i32 {
    let since = date.since(civil::date(1970, 1, 1));
    since.map_or(0, |span| span.get_days())
}

fn literal(day: i32) -> String {
    let date = civil::date(1970, 1, 1).checked_add(day.days()).unwrap_or(civil::Date::MIN);
    format!("DATE '{date}'")
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
