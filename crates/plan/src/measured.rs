//! What the lake measured, in the shape that the planner reads.
//!
//! `profile` fills these structs from the tables by SQL; nothing here queries, and nothing in the
//! planner reads the lake in any other way. Counts and sums are integers, divided once by whoever
//! needs a mean, so that no order of addition shows. All times are UTC instants.

use std::collections::BTreeMap;

use jiff::Timestamp;
use plimsoll_replay::Window;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

/// Everything that one plan is made from, beside the spec, the catalog and the calendar.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Number of the round of jobs that readers were pinned to.
    pub lake_version: u64,
    /// The history that profiles were made from.
    pub history: History,
    /// One entry per workflow seen in the history, by name.
    pub workflows: Vec<WorkflowMeasured>,
    /// One entry per pool seen in the history or in an event, by key.
    pub pools: Vec<PoolMeasured>,
    /// In-flight counts per boundary and name over the history.
    pub in_flight: Vec<InFlightMeasured>,
    /// Whole runs to replay: a sample of each workflow, and of each event's past occurrences.
    pub sampled_runs: Vec<SampledRun>,
}

/// The period that profiles were made from, and how much it held.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// First instant.
    pub from: Timestamp,
    /// First instant after it.
    pub to: Timestamp,
    /// Start of the first run in the whole lake, where there is one.
    pub first_run: Option<Timestamp>,
    /// Finished runs that started in it.
    pub runs: u64,
    /// Days of it on which a run started.
    pub days_with_runs: u32,
    /// Generation calls in it.
    pub model_calls: u64,
    /// Of those, calls whose usage is known.
    pub model_calls_with_usage: u64,
    /// Attempts in it, throttled ones included.
    pub attempts: u64,
    /// Of those, attempts that a limit refused.
    pub throttled_attempts: u64,
}

/// Exact statistics of one quantity over runs (or minutes).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Stat {
    /// Values known.
    pub n: u64,
    /// Rows looked at, known or not.
    pub of: u64,
    /// Sum of the known values in the quantity's integer unit: tokens, calls, or microseconds for
    /// what is told in milliseconds elsewhere.
    pub sum: i64,
    /// P50, linear interpolation, same unit as `sum`.
    pub p50: f64,
    /// P95.
    pub p95: f64,
    /// P99.
    pub p99: f64,
    /// Largest value.
    pub max: i64,
}

/// One workflow over the history.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkflowMeasured {
    /// Name, after the match rules.
    pub workflow: String,
    /// Tier that the telemetry told most often.
    pub tier: Option<u8>,
    /// Finished runs in the history.
    pub runs: u64,
    /// Finished runs by outcome: ok, error, throttled, timeout, orphan.
    pub outcomes: BTreeMap<String, u64>,
    /// Statistics over finished runs, by column of `runs`: `duration_ms` (in microseconds here, as
    /// `unthrottled_ms`, which leaves out the waits for limits), `ttft_ms`, `model_calls`, `tool_calls`, `input_tokens`, `output_tokens`, `cache_read`,
    /// `max_parallel_tools`, …
    pub metrics: BTreeMap<String, Stat>,
    /// What one run draws from each pool, over finished runs; a run that draws nothing counts as 0.
    pub draws: Vec<RunDraw>,
    /// Runs started per UTC hour, over everything that the lake holds; hours without runs are absent.
    pub hourly_starts: Vec<(Timestamp, u64)>,
    /// One entry per past occurrence of an event that names this workflow.
    pub occurrences: Vec<OccurrenceMeasured>,
    /// Statistics of a run's length without its waits for limits (in microseconds) over the runs of all those
    /// occurrences.
    pub event_duration: BTreeMap<String, Stat>,
    /// What one run draws inside each event's occurrences, by event name.
    pub event_draws: BTreeMap<String, Vec<RunDraw>>,
    /// Model calls without `max_output_tokens`, and all model calls.
    pub max_tokens_unset: (u64, u64),
    /// Output tokens per model call.
    pub output_per_call: Stat,
    /// Runs started in each second of the workflow's busiest hour, seconds without a start left out.
    pub busy_seconds: Vec<BusySecond>,
    /// By event, when its runs start inside past windows of it.
    pub event_starts: BTreeMap<String, Vec<QuarterStarts>>,
    /// What its clients do after a refusal, where any was refused.
    pub retries: Option<RetriesMeasured>,
    /// What a run cost on demand, by tenant.
    #[serde(default)]
    pub costs: Vec<RunCost>,
}

/// Runs that started in one quarter of an hour of an event's past windows, all windows together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuarterStarts {
    /// Quarters of an hour since a window's beginning, from 0.
    pub quarter: u32,
    /// Starts in it.
    pub starts: u64,
}

/// What clients did after a limit had refused a call. Times are microseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RetriesMeasured {
    /// Attempts that were refused.
    pub refused: u64,
    /// Most attempts of one call.
    pub attempts: u64,
    /// Median wait between the first refusal and the second attempt; null where none followed.
    pub first_wait_us: Option<u64>,
    /// P95 of all waits between a refusal and the next attempt.
    pub longest_wait_us: Option<u64>,
    /// What the provider's `retry-after` asked for: values of which each stands for a tenth of the answers.
    pub retry_after_us: Option<Vec<f64>>,
}

/// What the finished runs of one workflow and tenant cost on demand over the history.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunCost {
    /// Tenant; null where telemetry tells none.
    pub tenant: Option<String>,
    /// Finished runs.
    pub runs: u64,
    /// Of those, runs whose cost is known.
    pub priced_runs: u64,
    /// What these cost, USD.
    pub usd: Decimal,
    /// P50 of a run's cost, billionths of a dollar; null where no cost is known.
    pub p50_nano_usd: Option<f64>,
    /// Spent in the local month of the plan's instant, up to it, USD; null where nothing is known.
    pub to_date_usd: Option<Decimal>,
}

/// Runs that started in one second of an hour.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BusySecond {
    /// Second of the hour, from 0.
    pub second: u32,
    /// Starts in it.
    pub starts: u64,
}

/// A whole run as it was.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SampledRun {
    /// Event in whose past occurrence it ran; null for the sample of the history.
    pub event: Option<String>,
    /// Workflow.
    pub workflow: String,
    /// When it started, microseconds of the Unix epoch.
    #[serde(default)]
    pub arrival_us: i64,
    /// Request class, where told.
    #[serde(default)]
    pub class: Option<String>,
    /// Whether a limit stopped it and it began again from its first step.
    #[serde(default)]
    pub restarted: bool,
    /// Its calls, in the order in which they were wanted.
    pub calls: Vec<SampledCall>,
}

/// One model or tool call of a run. Times are microseconds from the run's start.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SampledCall {
    /// Account, where known.
    pub account: Option<String>,
    /// Region; null for global pools.
    pub region: Option<String>,
    /// Pool key; or, for a tool, its name.
    pub pool: String,
    /// Whether it is a tool's.
    #[serde(default)]
    pub tool: bool,
    /// When its first attempt started.
    pub wanted_us: i64,
    /// When the attempt started that was let in; the last one where none was.
    pub start_us: i64,
    /// How long that one took, microseconds.
    pub latency_us: i64,
    /// Time to its first token, microseconds, where it streamed.
    pub ttft_us: Option<i64>,
    /// Whether a limit refused every attempt.
    #[serde(default)]
    pub refused: bool,
    /// Whether the provider charges for it; a call that ended without usage and is not billed used nothing.
    pub billed: bool,
    /// Input tokens, cached ones included; null where unknown, as all that follow.
    pub input_tokens: Option<u64>,
    /// Input that no cache served or kept.
    pub input_uncached: Option<u64>,
    /// Input read from the cache.
    pub cache_read: Option<u64>,
    /// Input written to it.
    pub cache_write: Option<u64>,
    /// Output, reasoning included.
    pub output_tokens: Option<u64>,
    /// The part of it that was reasoning.
    pub reasoning_tokens: Option<u64>,
    /// Cap on output as it was asked for; null where unset.
    pub max_output_tokens: Option<u64>,
    /// Pool that was asked first and did not serve it; null where the one that served it was.
    #[serde(default)]
    pub asked_pool: Option<String>,
    /// That pool's account.
    #[serde(default)]
    pub asked_account: Option<String>,
    /// That pool's region.
    #[serde(default)]
    pub asked_region: Option<String>,
}

/// What one run draws from one pool in one measure.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunDraw {
    /// Account, where known.
    pub account: Option<String>,
    /// Region; null for global pools.
    pub region: Option<String>,
    /// Pool key.
    pub pool: String,
    /// `admission.X` or `settlement.X` with X of requests, input_tokens, output_tokens, tokens.
    pub measure: String,
    /// Over the workflow's finished runs. A run with a call whose usage is unknown has no value.
    pub per_run: Stat,
}

/// One past occurrence of an event, as one workflow lived it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OccurrenceMeasured {
    /// Event name in the spec.
    pub event: String,
    /// Start of the occurrence.
    pub start: Timestamp,
    /// Its end.
    pub end: Timestamp,
    /// Runs of the workflow that started inside.
    pub runs: u64,
    /// Runs in flight: time-weighted mean in thousandths over the occurrence's busy hours.
    pub in_flight_mean_milli: u64,
    /// Most runs in flight at one instant.
    pub in_flight_max: u64,
    /// Attempts of the workflow that a limit refused inside.
    pub throttled_attempts: u64,
    /// All its attempts inside.
    pub attempts: u64,
}

/// One pool over everything that the lake holds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PoolMeasured {
    /// Account, where known.
    pub account: Option<String>,
    /// Region; null for global pools.
    pub region: Option<String>,
    /// Pool key.
    pub pool: String,
    /// Attempts in the history and, of those, refused ones.
    pub attempts: u64,
    /// Attempts that the pool's limit refused.
    pub throttled_attempts: u64,
    /// Minutes of the history in which an attempt was refused: demand there is a lower bound.
    pub censored_minutes: u64,
    /// Minutes of the history in which anything was drawn.
    pub busy_minutes: u64,
    /// By measure (`admission.X`, `settlement.X`): amounts of the busy minutes of the history.
    pub per_minute: BTreeMap<String, Stat>,
    /// By measure: most in one second, ten seconds, one minute, five minutes of the history.
    pub peaks: BTreeMap<String, Peaks>,
    /// By measure: the busiest minute of the history, by workflow.
    #[serde(default)]
    pub busiest: BTreeMap<String, BusiestMinute>,
    /// By UTC hour and measure, over everything that the lake holds.
    pub hours: Vec<PoolHour>,
    /// By measure: the amount of every busy minute of the whole lake, ascending. Filled for pools
    /// with reserved units only, since a reservation is sized on the whole load-duration curve.
    pub minute_amounts: BTreeMap<String, Vec<u64>>,
    /// Minutes that the lake covers, busy or not.
    pub minutes_covered: u64,
    /// Tokens of the history's calls by kind, for what they would cost on demand.
    pub tokens: TokenSums,
    /// Runs' share of the history's draw by workflow, in the binding measure's own order.
    pub by_workflow: Vec<WorkflowShare>,
    /// Limits that the provider's headers told, latest first seen value per dimension.
    pub limits_seen: BTreeMap<String, u64>,
    /// What was sent in the hour in which most was refused, by time; empty where nothing ever was.
    #[serde(default)]
    pub refusals: Vec<AttemptMeasured>,
}

/// One attempt with what it draws, metered by the catalog; what a refused one asked for. Null where unknown.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AttemptMeasured {
    /// When it was sent, microseconds of the Unix epoch.
    pub at_us: u64,
    /// When it ended.
    pub until_us: u64,
    /// Whether a limit refused it.
    pub refused: bool,
    /// At admission.
    pub admission_requests: Option<u64>,
    /// At admission.
    pub admission_input_tokens: Option<u64>,
    /// At admission.
    pub admission_output_tokens: Option<u64>,
    /// At admission.
    pub admission_tokens: Option<u64>,
    /// At settlement.
    pub settlement_requests: Option<u64>,
    /// At settlement.
    pub settlement_input_tokens: Option<u64>,
    /// At settlement.
    pub settlement_output_tokens: Option<u64>,
    /// At settlement.
    pub settlement_tokens: Option<u64>,
}

/// Tokens by kind, summed over calls whose usage is known.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TokenSums {
    /// Input that no cache served or kept.
    pub input_uncached: u64,
    /// Input read from the cache.
    pub cache_read: u64,
    /// Input written to it.
    pub cache_write: u64,
    /// Output, reasoning included.
    pub output: u64,
}

/// Largest window sums, each to be compared only with a limit of the same window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Peaks {
    /// Busiest UTC-aligned second.
    pub s1: u64,
    /// Busiest ten seconds.
    pub s10: u64,
    /// Busiest minute.
    pub s60: u64,
    /// Busiest five minutes.
    pub s300: u64,
}

impl Peaks {
    /// The busiest window of a length, where that length is measured.
    #[must_use]
    pub fn of(&self, window: Window) -> Option<u64> {
        match window.0 {
            1 => Some(self.s1),
            10 => Some(self.s10),
            60 => Some(self.s60),
            300 => Some(self.s300),
            _ => None,
        }
    }
}

/// The minute in which a pool's workflows together drew the most, and what each of them drew in it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BusiestMinute {
    /// Its start, UTC.
    pub minute: Timestamp,
    /// Every workflow that drew on the pool in the history, the largest part first.
    pub workflows: Vec<WorkflowMinute>,
}

/// A workflow's part of that minute, beside its own busiest.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkflowMinute {
    /// Workflow; null for calls whose workflow is unknown.
    pub workflow: Option<String>,
    /// What it drew in that minute.
    pub amount: u64,
    /// The most that it drew in any minute of the history.
    pub own_peak: u64,
    /// Start of that one, UTC.
    pub own_minute: Timestamp,
}

/// One hour of one pool in one measure.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PoolHour {
    /// Start of the hour, UTC.
    pub hour: Timestamp,
    /// Measure.
    pub measure: String,
    /// Sum over the hour.
    pub sum: u64,
    /// Its busiest minute.
    pub busiest_minute: u64,
    /// Attempts refused in the hour.
    pub throttled: u64,
}

/// A workflow's share of a pool's draw over the history.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkflowShare {
    /// Workflow.
    pub workflow: String,
    /// Measure.
    pub measure: String,
    /// Sum drawn.
    pub amount: u64,
}

/// In-flight counts of one boundary.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct InFlightMeasured {
    /// run, model, tool or stream.
    pub boundary: String,
    /// Workflow, pool, tool or pool.
    pub name: String,
    /// Starts in the history.
    pub starts: u64,
    /// Time in it, microseconds, summed.
    pub busy_us: i64,
    /// Time-weighted mean over busy minutes, in thousandths.
    pub mean_milli: u64,
    /// P95 over busy minutes of the minute's maximum.
    pub p95: f64,
    /// Most at one instant.
    pub max: u64,
}
