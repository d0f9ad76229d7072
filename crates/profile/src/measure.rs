//! What a plan is made from, measured by the queries in `sql/plan`.
//!
//! Each query gives rows in the shape of one struct of the crate `plan`; this module only runs them
//! and puts the rows where they belong. Invariant: the same snapshot, windows and instant give the
//! same [`Measured`], since sums are of integers and every list has an order.

mod chosen;
mod recorded;

use std::{collections::BTreeMap, sync::Arc};

use arrow::{
    array::{ArrayRef, RecordBatch, StringArray, TimestampMicrosecondArray},
    compute::concat_batches,
    datatypes::{DataType, Field, Schema},
    json::{ArrayWriter, writer::JsonArray, writer::WriterBuilder},
};
use datafusion::{common::ScalarValue, error::DataFusionError};
use jiff::Timestamp;
use plimsoll_plan::{
    AttemptMeasured, BusiestMinute, BusySecond, History, InFlightMeasured, Measured, OccurrenceMeasured,
    Peaks, PoolHour, PoolMeasured, QuarterStarts, RetriesMeasured, RunCost, RunDraw, Stat, TokenSums,
    Windows, WorkflowMeasured, WorkflowMinute, WorkflowShare,
};
use serde::{Deserialize, de::DeserializeOwned};

pub use recorded::{Recording, recorded};

use crate::{
    error::ProfileError,
    functions::instant,
    session::{Reader, SessionFactory},
};

/// Measures everything that a plan over these windows reads.
///
/// # Errors
/// A query that fails.
#[tracing::instrument(skip_all)]
pub async fn measure(
    reader: &Reader,
    factory: &SessionFactory,
    windows: &Windows,
) -> Result<Measured, ProfileError> {
    let (from, to) = windows.history;
    let first_event = windows.past.iter().map(|event| event.start()).min();
    let measured_from = first_event.map_or(from, |event| event.min(from));
    let queries = Queries::new(reader, factory, (from, to), measured_from).with("month", windows.month);
    reader.register_rows("occurrence_windows", occurrence_windows(windows)?)?;
    queries.keep().await?;
    let history = queries.history(from, to).await?;
    Ok(Measured {
        lake_version: reader.snapshot().map_or(0, |row| row.lake_version.unsigned_abs()),
        workflows: queries.workflows().await?,
        pools: queries.pools(&history).await?,
        in_flight: queries.rows::<InFlightMeasured>("in_flight").await?,
        sampled_runs: queries.chosen_calls().await?,
        history,
    })
}

struct Queries<'a> {
    reader: &'a Reader,
    factory: &'a SessionFactory,
    parameters: BTreeMap<&'static str, ScalarValue>,
}

#[derive(Deserialize)]
struct WorkflowRow {
    workflow: String,
    tier: Option<u8>,
    outcome: Option<String>,
    runs: Option<u64>,
}

#[derive(Deserialize)]
struct MetricRow {
    workflow: String,
    metric: String,
    #[serde(flatten)]
    stat: Stat,
}

#[derive(Deserialize)]
struct DrawRow {
    event: Option<String>,
    workflow: String,
    account: Option<String>,
    region: Option<String>,
    pool: String,
    measure: String,
    #[serde(flatten)]
    stat: Stat,
}

#[derive(Deserialize)]
struct EventDurationRow {
    event: String,
    workflow: String,
    #[serde(flatten)]
    stat: Stat,
}

#[derive(Deserialize)]
struct OccurrenceRow {
    workflow: String,
    #[serde(flatten)]
    occurrence: OccurrenceMeasured,
}

#[derive(Deserialize)]
struct HourRow {
    workflow: String,
    hour: Timestamp,
    starts: u64,
}

#[derive(Deserialize)]
struct CostRow {
    workflow: String,
    #[serde(flatten)]
    cost: RunCost,
}

#[derive(Deserialize)]
struct BusyRow {
    workflow: String,
    #[serde(flatten)]
    second: BusySecond,
}

#[derive(Deserialize)]
struct QuarterRow {
    event: String,
    workflow: String,
    #[serde(flatten)]
    starts: QuarterStarts,
}

#[derive(Deserialize)]
struct RetriesRow {
    workflow: String,
    #[serde(flatten)]
    retries: RetriesMeasured,
}

#[derive(Deserialize)]
struct CallsRow {
    workflow: String,
    calls: u64,
    unset: u64,
    #[serde(flatten)]
    output: Stat,
}

#[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord, Clone)]
struct PoolName {
    account: Option<String>,
    region: Option<String>,
    pool: String,
}

#[derive(Deserialize)]
struct PoolRow {
    #[serde(flatten)]
    name: PoolName,
    attempts: u64,
    throttled_attempts: u64,
    busy_minutes: u64,
    censored_minutes: u64,
}

#[derive(Deserialize)]
struct OfPool<T> {
    #[serde(flatten)]
    name: PoolName,
    #[serde(flatten)]
    row: T,
}

#[derive(Deserialize)]
struct OfMeasure<T> {
    measure: String,
    #[serde(flatten)]
    row: T,
}

#[derive(Deserialize)]
struct BusiestRow {
    minute: Timestamp,
    #[serde(flatten)]
    part: WorkflowMinute,
}

#[derive(Deserialize)]
struct Amounts {
    amounts: Vec<u64>,
}

#[derive(Deserialize)]
struct LimitsSeen {
    limit_requests: Option<u64>,
    limit_tokens: Option<u64>,
    limit_output_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct HistoryRow {
    first_run: Option<Timestamp>,
    runs: u64,
    days_with_runs: u32,
    model_calls: u64,
    model_calls_with_usage: u64,
    attempts: u64,
    throttled_attempts: u64,
}

impl<'a> Queries<'a> {
    fn new(
        reader: &'a Reader,
        factory: &'a SessionFactory,
        (from, to): (Timestamp, Timestamp),
        measured_from: Timestamp,
    ) -> Self {
        let queries = Self { reader, factory, parameters: BTreeMap::new() };
        queries.with("from", from).with("to", to).with("measured_from", measured_from)
    }

    /// The same with one more instant that queries name.
    fn with(mut self, name: &'static str, at: Timestamp) -> Self {
        let at = ScalarValue::TimestampMicrosecond(Some(at.as_microsecond()), Some("UTC".into()));
        self.parameters.insert(name, at);
        self
    }

    async fn batches(&self, file: &str, sql: &str) -> Result<RecordBatch, ProfileError> {
        let name = format!("plan/{file}");
        let frame = self.reader.plan_with(&name, sql, &self.parameters).await?;
        let schema = Arc::clone(frame.schema().inner());
        let wrong = || ProfileError::query(name.as_str());
        let batches = frame.collect().await.map_err(wrong())?;
        concat_batches(&schema, &batches).map_err(|error| wrong()(error.into()))
    }

    /// Runs the queries whose rows others read, and registers them under the name after `keeps`.
    async fn keep(&self) -> Result<(), ProfileError> {
        for (file, sql) in self.factory.sql.folder("plan") {
            let kept = sql.lines().find_map(|line| line.strip_prefix("-- keeps:"));
            if let Some(name) = kept {
                let rows = self.batches(file, sql).await?;
                self.reader.register_rows(name.trim(), rows)?;
            }
        }
        Ok(())
    }

    /// What the query of that name gives.
    async fn batch(&self, name: &str) -> Result<RecordBatch, ProfileError> {
        let file = format!("{name}.sql");
        let sql = self.factory.sql.folder("plan").find(|(known, _)| *known == file);
        let Some((file, sql)) = sql else {
            return Err(ProfileError::Header {
                file: format!("plan/{file}"),
                problem: "the planner needs this query: put it back".into(),
            });
        };
        self.batches(file, sql).await
    }

    async fn rows<T: DeserializeOwned>(&self, name: &str) -> Result<Vec<T>, ProfileError> {
        let batch = self.batch(name).await?;
        if batch.num_rows() == 0 {
            return Ok(Vec::new());
        }
        let mut writer: ArrayWriter<Vec<u8>> = WriterBuilder::new().build::<_, JsonArray>(Vec::new());
        writer.write(&batch).and_then(|()| writer.finish()).map_err(DataFusionError::from)?;
        serde_json::from_slice(&writer.into_inner()).map_err(|error| ProfileError::Header {
            file: format!("plan/{name}.sql"),
            problem: format!("its rows are not what the planner reads: {error}"),
        })
    }

    async fn history(&self, from: Timestamp, to: Timestamp) -> Result<History, ProfileError> {
        let row = self.rows::<HistoryRow>("history").await?.into_iter().next();
        Ok(row.map_or_else(History::default, |row| History {
            from,
            to,
            first_run: row.first_run,
            runs: row.runs,
            days_with_runs: row.days_with_runs,
            model_calls: row.model_calls,
            model_calls_with_usage: row.model_calls_with_usage,
            attempts: row.attempts,
            throttled_attempts: row.throttled_attempts,
        }))
    }

    async fn workflows(&self) -> Result<Vec<WorkflowMeasured>, ProfileError> {
        let mut found: BTreeMap<String, WorkflowMeasured> = BTreeMap::new();
        for row in self.rows::<WorkflowRow>("workflows").await? {
            let workflow = found.entry(row.workflow.clone()).or_insert_with(|| WorkflowMeasured {
                workflow: row.workflow,
                tier: row.tier,
                ..WorkflowMeasured::default()
            });
            if let (Some(outcome), Some(runs)) = (row.outcome, row.runs) {
                if outcome != "orphan" {
                    workflow.runs += runs;
                }
                workflow.outcomes.insert(outcome, runs);
            }
        }
        for row in self.rows::<MetricRow>("metrics").await? {
            if let Some(workflow) = found.get_mut(&row.workflow) {
                workflow.metrics.insert(row.metric, row.stat);
            }
        }
        for name in ["draws", "event_draws"] {
            for row in self.rows::<DrawRow>(name).await? {
                let Some(workflow) = found.get_mut(&row.workflow) else { continue };
                let draws = match row.event {
                    None => &mut workflow.draws,
                    Some(event) => workflow.event_draws.entry(event).or_default(),
                };
                draws.push(RunDraw {
                    account: row.account,
                    region: row.region,
                    pool: row.pool,
                    measure: row.measure,
                    per_run: row.stat,
                });
            }
        }
        for row in self.rows::<EventDurationRow>("event_duration").await? {
            if let Some(workflow) = found.get_mut(&row.workflow) {
                workflow.event_duration.insert(row.event, row.stat);
            }
        }
        for row in self.rows::<OccurrenceRow>("occurrences").await? {
            if let Some(workflow) = found.get_mut(&row.workflow) {
                workflow.occurrences.push(row.occurrence);
            }
        }
        for row in self.rows::<HourRow>("hourly_starts").await? {
            if let Some(workflow) = found.get_mut(&row.workflow) {
                workflow.hourly_starts.push((row.hour, row.starts));
            }
        }
        for row in self.rows::<CallsRow>("calls").await? {
            if let Some(workflow) = found.get_mut(&row.workflow) {
                workflow.max_tokens_unset = (row.unset, row.calls);
                workflow.output_per_call = row.output;
            }
        }
        for row in self.rows::<CostRow>("run_costs").await? {
            if let Some(workflow) = found.get_mut(&row.workflow) {
                workflow.costs.push(row.cost);
            }
        }
        for row in self.rows::<BusyRow>("busy_seconds").await? {
            if let Some(workflow) = found.get_mut(&row.workflow) {
                workflow.busy_seconds.push(row.second);
            }
        }
        for row in self.rows::<QuarterRow>("event_starts").await? {
            if let Some(workflow) = found.get_mut(&row.workflow) {
                workflow.event_starts.entry(row.event).or_default().push(row.starts);
            }
        }
        for row in self.rows::<RetriesRow>("retries").await? {
            if let Some(workflow) = found.get_mut(&row.workflow) {
                workflow.retries = Some(row.retries);
            }
        }
        Ok(found.into_values().collect())
    }

    async fn pools(&self, history: &History) -> Result<Vec<PoolMeasured>, ProfileError> {
        let covered = history
            .first_run
            .map_or(0, |first| u64::try_from(history.to.duration_since(first).as_secs() / 60).unwrap_or(0));
        let mut found: BTreeMap<PoolName, PoolMeasured> = BTreeMap::new();
        for row in self.rows::<PoolRow>("pools").await? {
            let pool = PoolMeasured {
                account: row.name.account.clone(),
                region: row.name.region.clone(),
                pool: row.name.pool.clone(),
                attempts: row.attempts,
                throttled_attempts: row.throttled_attempts,
                busy_minutes: row.busy_minutes,
                censored_minutes: row.censored_minutes,
                minutes_covered: covered,
                ..PoolMeasured::default()
            };
            found.insert(row.name, pool);
        }
        for OfPool { name, row } in self.rows::<OfPool<OfMeasure<Stat>>>("pool_minutes").await? {
            if let Some(pool) = found.get_mut(&name) {
                pool.per_minute.insert(row.measure, row.row);
            }
        }
        for OfPool { name, row } in self.rows::<OfPool<OfMeasure<Peaks>>>("peaks").await? {
            if let Some(pool) = found.get_mut(&name) {
                pool.peaks.insert(row.measure, row.row);
            }
        }
        for OfPool { name, row } in self.rows::<OfPool<OfMeasure<BusiestRow>>>("busiest_minutes").await? {
            let Some(pool) = found.get_mut(&name) else { continue };
            let BusiestRow { minute, part } = row.row;
            let busiest = pool
                .busiest
                .entry(row.measure)
                .or_insert_with(|| BusiestMinute { minute, ..BusiestMinute::default() });
            busiest.workflows.push(part);
        }
        for OfPool { name, row } in self.rows::<OfPool<PoolHour>>("pool_hours").await? {
            if let Some(pool) = found.get_mut(&name) {
                pool.hours.push(row);
            }
        }
        for OfPool { name, row } in self.rows::<OfPool<OfMeasure<Amounts>>>("minute_amounts").await? {
            if let Some(pool) = found.get_mut(&name) {
                pool.minute_amounts.insert(row.measure, row.row.amounts);
            }
        }
        for OfPool { name, row } in self.rows::<OfPool<WorkflowShare>>("shares").await? {
            if let Some(pool) = found.get_mut(&name) {
                pool.by_workflow.push(row);
            }
        }
        for OfPool { name, row } in self.rows::<OfPool<TokenSums>>("pool_tokens").await? {
            if let Some(pool) = found.get_mut(&name) {
                pool.tokens = row;
            }
        }
        for OfPool { name, row } in self.rows::<OfPool<AttemptMeasured>>("refusals").await? {
            if let Some(pool) = found.get_mut(&name) {
                pool.refusals.push(row);
            }
        }
        for OfPool { name, row } in self.rows::<OfPool<LimitsSeen>>("limits_seen").await? {
            let Some(pool) = found.get_mut(&name) else { continue };
            for (key, value) in [
                ("requests", row.limit_requests),
                ("tokens", row.limit_tokens),
                ("output_tokens", row.limit_output_tokens),
            ] {
                if let Some(value) = value {
                    pool.limits_seen.insert(key.to_owned(), value);
                }
            }
        }
        Ok(found.into_values().collect())
    }
}

/// The windows of past occurrences, one row per workflow that the event names.
fn occurrence_windows(windows: &Windows) -> Result<RecordBatch, ProfileError> {
    let rows: Vec<(&str, &str, &str, Timestamp, Timestamp)> = windows
        .past
        .iter()
        .flat_map(|event| {
            event.workflows.keys().flat_map(move |workflow| {
                event.windows.iter().map(move |(start, end)| {
                    (event.event.as_str(), event.occurrence.as_str(), workflow.as_str(), *start, *end)
                })
            })
        })
        .collect();
    let text = |of: fn(&(&str, &str, &str, Timestamp, Timestamp)) -> String| -> ArrayRef {
        Arc::new(rows.iter().map(|row| Some(of(row))).collect::<StringArray>())
    };
    let time = |of: fn(&(&str, &str, &str, Timestamp, Timestamp)) -> Timestamp| -> ArrayRef {
        let array: TimestampMicrosecondArray =
            rows.iter().map(|row| Some(of(row).as_microsecond())).collect();
        Arc::new(array.with_timezone("UTC"))
    };
    let schema = Schema::new(vec![
        Field::new("event", DataType::Utf8, false),
        Field::new("occurrence", DataType::Utf8, false),
        Field::new("workflow", DataType::Utf8, false),
        Field::new("window_start", instant(), false),
        Field::new("window_end", instant(), false),
    ]);
    let columns = vec![
        text(|row| row.0.to_owned()),
        text(|row| row.1.to_owned()),
        text(|row| row.2.to_owned()),
        time(|row| row.3),
        time(|row| row.4),
    ];
    Ok(RecordBatch::try_new(Arc::new(schema), columns).map_err(DataFusionError::from)?)
}
