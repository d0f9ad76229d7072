//! The plan as a document: what `plan.json` holds, key for key.
//!
//! The shapes here are final: scripts and the report read them. Token and request figures are whole
//! numbers, rounded up once; shares are fractions of one; money is a decimal string in USD.

use std::collections::BTreeMap;

use jiff::{Timestamp, civil::Date};
use serde::{Deserialize, Serialize};

use crate::rates::{EventRatePlan, GrowthPlan, LoadPlan};
use crate::{
    DegradationPlan, FigureInput, Filing, LeadTimePlan, LedgerPlan, Lint, ReservationPlan, SpendPlan,
    UnsignedPlan,
};

/// A finished plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Hash of lake version, spec, catalog, `as_of` and, where there is one, the ledger.
    pub plan_id: String,
    /// Instant that the plan speaks for.
    pub as_of: Timestamp,
    /// Round of jobs that it read.
    pub lake_version: u64,
    /// Digest of the spec's text.
    pub spec_sha256: String,
    /// Name of the catalog edition, for example `2026-11`.
    pub catalog: String,
    /// Digest of the catalog.
    pub catalog_sha256: String,
    /// Digest of the request ledger's text; null without one.
    pub ledger_sha256: Option<String>,
    /// Time zone of the business calendar, IANA name.
    pub time_zone: String,
    /// Name of the holiday set.
    pub holidays: String,
    /// One or two sentences: what will happen, what must be done by when.
    pub verdict: String,
    /// What the profiles were made from.
    pub history: PlanHistory,
    /// Pools with what each of their limits needs.
    pub pools: Vec<PoolPlan>,
    /// Requests to file, earliest `file_by` first.
    pub quota_requests: Vec<QuotaRequest>,
    /// On which day to file what, within what each channel allows at once; earliest first.
    #[serde(default)]
    pub filing: Vec<Filing>,
    /// Reserved units: hold, step up, step down, let lapse, buy.
    pub reservations: Vec<ReservationPlan>,
    /// What each coming month costs, beside the budget.
    #[serde(default)]
    pub spend: Vec<SpendPlan>,
    /// From which use of a limit on to answer more cheaply, so that it is not exhausted.
    #[serde(default)]
    pub degradation: Vec<DegradationPlan>,
    /// Floors and borrowing per pool and tier.
    pub tiers: Vec<TierPlan>,
    /// Coming occurrences of the calendar's events within the horizon, earliest first.
    pub events: Vec<EventPlan>,
    /// Stress tests.
    pub stress: Vec<StressResult>,
    /// Scenarios.
    pub scenarios: Vec<ScenarioResult>,
    /// How fast each event makes each workflow start runs, and what that comes from.
    #[serde(default)]
    pub event_rates: Vec<EventRatePlan>,
    /// Where each workflow's level is going.
    #[serde(default)]
    pub growth: Vec<GrowthPlan>,
    /// How fast each workflow starts runs in each hour of an ordinary week.
    #[serde(default)]
    pub load: Vec<LoadPlan>,
    /// What happens at the instants that need a higher limit if nothing is signed, beside what happens if
    /// it is.
    #[serde(default)]
    pub unsigned: Vec<UnsignedPlan>,
    /// Supply risks.
    pub risks: Vec<Risk>,
    /// Little's law at every boundary, beside what was measured.
    pub concurrency: Vec<ConcurrencyPlan>,
    /// Hard caps to enforce per workflow.
    pub budgets: Vec<BudgetPlan>,
    /// What would free quota before any request.
    pub cheaper_first: Vec<CheaperFix>,
    /// Per workflow: what it draws, for the report's table.
    pub workflows: Vec<WorkflowPlan>,
    /// What a signer must know of the data and the inputs.
    pub warnings: Vec<Warning>,
    /// Requests made so far, as `ledger.toml` has them, and what came of them.
    #[serde(default)]
    pub ledger: Vec<LedgerPlan>,
}

/// What the profiles were made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanHistory {
    /// First instant.
    pub from: Timestamp,
    /// First instant after it.
    pub to: Timestamp,
    /// Finished runs in it.
    pub runs: u64,
    /// Share of model calls whose usage is known.
    pub coverage: f64,
    /// Days with runs.
    pub days: u32,
    /// Share of busy minutes in which a limit refused something.
    pub censored: f64,
}

/// One pool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PoolPlan {
    /// Pool key.
    pub pool: String,
    /// Account.
    pub account: Option<String>,
    /// Region; null for global pools.
    pub region: Option<String>,
    /// Dimension with the largest need ÷ limit, where any limit is known.
    pub binding: Option<String>,
    /// One entry per dimension that the catalog meters or the spec limits.
    pub dimensions: Vec<DimensionPlan>,
    /// Workflows that draw at the binding instant, largest first.
    pub contributors: Vec<Contributor>,
    /// Peak of the sum ÷ sum of the peaks; 1 where all peak together.
    pub coincidence: f64,
    /// Model calls in flight at the binding instant.
    pub concurrency: Option<PoolConcurrency>,
    /// Workflow that owns the pool's tightest limit, for the decision table.
    pub owner: Option<String>,
    /// How long an increase takes here, and who says so; null where nobody does.
    #[serde(default)]
    pub lead_time: Option<LeadTimePlan>,
}

/// How the limit that an instant needs was found by replay.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayPlan {
    /// Smallest limit at which every tier's share of throttled operations is within its target.
    pub most: u64,
    /// Limit at which nothing at all would be throttled: the peak of the demand, or more where the limit does
    /// not hold as much as flows in within its window.
    pub upper: u64,
    /// What unhindered demand draws in its busiest window.
    #[serde(default)]
    pub busiest_window: u64,
    /// Seconds of its flow that a token bucket holds, as its refusals tell; null for a whole window.
    #[serde(default)]
    pub holds_s: Option<u32>,
    /// Minutes at the instant's rates, in each replay.
    pub minutes: u64,
    /// Replays with arrivals of their own, all of which the limit serves.
    pub seeds: u64,
    /// Measured runs that were drawn from.
    pub runs: u64,
    /// Operations that the search replayed, over all the limits that it tried.
    pub operations: u64,
    /// Whether no larger limit was seen to do worse.
    pub monotone: bool,
    /// Measured runs that a limit had ended; they are replayed with the rest of others.
    #[serde(default)]
    pub cut_short: u64,
    /// Why this is less than was wanted, so that the percentile counts beside it; null where it is not.
    #[serde(default)]
    pub lower_bound: Option<String>,
}

/// What one limit of a pool needs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DimensionPlan {
    /// requests_per_min, input_tokens_per_min, output_tokens_per_min, tokens_per_min, …
    pub dimension: String,
    /// admission or settlement: whichever asks for more.
    pub basis: String,
    /// Window that the provider enforces, seconds.
    pub window_s: u32,
    /// Limit in force at the first event that needs it; null where the spec gives none.
    pub limit: Option<u64>,
    /// Limits over time, earliest first, for the chart of draw against limit; empty where unknown.
    #[serde(default)]
    pub limits: Vec<LimitStep>,
    /// Mean draw per run × runs a minute, summed over the workflows drawing at that instant.
    pub mean_demand: u64,
    /// P95 draw per run × runs a minute: the figure that people can check by hand.
    pub p95_floor: u64,
    /// The P95 floor by what providers charge when a call starts; null where not metered.
    pub p95_floor_admission: Option<u64>,
    /// The P95 floor by what they correct that to at its end; null where not metered.
    pub p95_floor_settlement: Option<u64>,
    /// The P95 floor at the rates that the forecast stays below at P95; null where nothing was
    /// forecast.
    #[serde(default)]
    pub forecast_p95: Option<u64>,
    /// P95 floor × (1 + headroom), or `forecast_p95` where that is larger.
    pub p95_need: u64,
    /// Smallest limit that replay shows to be enough, without headroom; null where nothing was replayed.
    pub replayed: Option<u64>,
    /// How that was found; null like `replayed`.
    #[serde(default)]
    pub replay: Option<ReplayPlan>,
    /// The limit that is needed.
    pub need: u64,
    /// Largest need of the horizon, where a later instant needs more than `need` and the ask covers
    /// it; null where `need` is the largest.
    #[serde(default)]
    pub largest_need: Option<u64>,
    /// The need rounded up to what the provider grants; null where nothing is asked.
    pub ask: Option<u64>,
    /// Name of the provider's step that the ask lands on.
    pub grant_step: Option<String>,
    /// P95 floor ÷ limit.
    pub utilization_p95: Option<f64>,
    /// hold, no_data, planned, file_now, late.
    pub decision: String,
    /// Day by which to file.
    pub file_by: Option<Date>,
    /// Last day on which filing is still in time at the lead time's P90.
    pub last_safe: Option<Date>,
    /// Event that needs it.
    pub event: Option<String>,
    /// Start of that occurrence.
    pub event_start: Option<Timestamp>,
    /// Past occurrences of it that were measured.
    pub occurrences: u32,
    /// Share of the attempts in those occurrences that a limit refused: demand there is a lower bound.
    pub censored: f64,
    /// Above its limit, but a setting named in `cheaper_first` brings it under: nothing to ask for.
    pub fix_first: bool,
    /// Runs behind the percentile (busy minutes, where `rate_from` is `measured` without an event).
    pub n: u64,
    /// What gave the rate: in_flight, runs_per_min, measured, multiplier, assumed, hour_of_week.
    pub rate_from: String,
    /// Weight of the workflow's own occurrences in that rate, of one; null where none was forecast.
    #[serde(default)]
    pub own_weight: Option<f64>,
    /// How the figure came about, one line per step, for the justification and `--explain`.
    pub derivation: Vec<String>,
    /// What went into it, each with where it was read.
    #[serde(default)]
    pub inputs: Vec<FigureInput>,
}

/// A limit from one day on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitStep {
    /// First local day on which it holds; null for the first, whose start nobody told.
    pub from: Option<Date>,
    /// The limit, in the dimension's unit per its window.
    pub value: u64,
}

/// A workflow's part of a pool's need.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Contributor {
    /// Workflow.
    pub workflow: String,
    /// Share of the P95 floor, of one.
    pub share: f64,
}

/// Calls or runs in flight.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PoolConcurrency {
    /// λ·W.
    pub mean: f64,
    /// P95 of a Poisson of that mean.
    pub p95: u64,
    /// Most measured at one instant, where measured.
    pub max: Option<u64>,
}

/// One request to a provider.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QuotaRequest {
    /// Pool key.
    pub pool: String,
    /// Account.
    pub account: Option<String>,
    /// Region; null for global pools.
    #[serde(default)]
    pub region: Option<String>,
    /// Dimension.
    pub dimension: String,
    /// Event that needs it; null where ordinary use does.
    #[serde(default)]
    pub event: Option<String>,
    /// First day on which it is needed.
    #[serde(default)]
    pub needed_from: Option<Date>,
    /// Limit today.
    pub from: Option<u64>,
    /// Limit asked for.
    pub to: u64,
    /// Day by which to file.
    pub file_by: Date,
    /// Last safe day.
    pub last_safe: Date,
    /// planned, file_now or late.
    pub decision: String,
    /// Console, service-quotas, form, account team, …
    pub channel: String,
    /// Command that files it, where the channel has one.
    pub command: Option<String>,
    /// The provider's own form, field by field; a field that Plimsoll cannot know says so.
    pub fields: BTreeMap<String, String>,
    /// Text that a reviewer at the provider can act on.
    pub justification: String,
    /// Figures behind it, each with statistic, window and period in its name or value.
    pub evidence: BTreeMap<String, serde_json::Value>,
    /// Quotas that must rise with it.
    pub companions: Vec<String>,
    /// Who files it.
    pub owner: Option<String>,
    /// What a reviewer at the provider would ask about.
    #[serde(default)]
    pub lints: Vec<Lint>,
}

/// Floors of one tier in one pool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TierPlan {
    /// Pool key.
    pub pool: String,
    /// Account, where known.
    #[serde(default)]
    pub account: Option<String>,
    /// Region; null for global pools.
    #[serde(default)]
    pub region: Option<String>,
    /// Tier.
    pub tier: u8,
    /// Reserved draw a minute in the binding dimension; 0 for tiers 2 and 3, which share what is left.
    pub floor_per_min: u64,
    /// Reserved concurrent calls; 0 as above.
    pub floor_concurrent: u64,
    /// Reserved draw in each limit of a minute.
    #[serde(default)]
    pub floors: BTreeMap<String, u64>,
    /// Tiers whose unused floor it may take.
    pub may_borrow: Vec<u8>,
    /// Longest that a call may wait, seconds.
    pub max_wait_s: u64,
}

/// A coming occurrence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventPlan {
    /// Name.
    pub event: String,
    /// Start.
    pub start: Timestamp,
    /// End.
    pub end: Timestamp,
    /// Past occurrences that were measured.
    pub occurrences: u32,
}

/// One stress test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StressResult {
    /// What was stressed.
    pub stress: String,
    /// Holds.
    pub holds: bool,
    /// Dimension that breaks.
    pub breaks: Option<String>,
    /// Pool that breaks.
    pub pool: Option<String>,
    /// First instant.
    pub first: Option<Timestamp>,
    /// Growth of the queue, calls a minute.
    pub queue_per_min: Option<f64>,
    /// Tiers that suffer.
    pub tiers: Vec<u8>,
    /// What an hour of the instant then costs more, USD; null where no price is known.
    pub cost_usd: Option<String>,
}

/// One scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScenarioResult {
    /// Name.
    pub scenario: String,
    /// Factor over expected demand.
    pub factor: f64,
    /// Holds.
    pub holds: bool,
}

/// One supply risk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Risk {
    /// Name.
    pub risk: String,
    /// Pool.
    pub pool: Option<String>,
    /// What and why.
    pub detail: String,
    /// Exposure, USD a month.
    pub usd_month: Option<String>,
}

/// Little's law at one boundary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConcurrencyPlan {
    /// run, model, tool or stream.
    pub boundary: String,
    /// Workflow, pool or tool.
    pub name: String,
    /// Starts a second.
    pub lambda_per_s: f64,
    /// Mean time inside, seconds.
    pub w_s: f64,
    /// λ·W.
    pub l: f64,
    /// P95 of the busy minutes' maxima, measured.
    pub measured_p95: Option<u64>,
    /// Concurrency beyond which latency climbs; null where not seen.
    pub knee: Option<f64>,
}

/// A hard cap for the runtime.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BudgetPlan {
    /// Workflow.
    pub workflow: String,
    /// model_calls, tool_calls, tokens, wall_clock_s, …
    pub limit: String,
    /// Value.
    pub value: u64,
    /// Share of measured runs that it would have cut, at most.
    pub would_cut: f64,
}

/// Something cheaper than a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheaperFix {
    /// Pool.
    pub pool: String,
    /// max_tokens, caching, routing, batch, staggering.
    pub fix: String,
    /// Dimension.
    pub dimension: String,
    /// What it frees at the peak, in the dimension's unit.
    pub frees: u64,
    /// Workflow that would change.
    pub workflow: Option<String>,
    /// What to do, as one sentence.
    pub detail: String,
    /// Who owns that workflow.
    pub owner: Option<String>,
}

/// A workflow's row in the report's table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkflowPlan {
    /// Workflow.
    pub workflow: String,
    /// Tier, declared or as the telemetry told.
    pub tier: Option<u8>,
    /// Owner.
    pub owner: Option<String>,
    /// Finished runs in the history.
    pub runs: u64,
    /// Share of its runs whose token totals are known.
    pub coverage: f64,
    /// Metric → P50, P95, P99, max and n; times in milliseconds.
    pub metrics: BTreeMap<String, MetricPlan>,
}

/// Percentiles with their n.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricPlan {
    /// Values known.
    pub n: u64,
    /// Mean.
    pub mean: f64,
    /// P50.
    pub p50: f64,
    /// P95.
    pub p95: f64,
    /// P99.
    pub p99: f64,
    /// Largest.
    pub max: f64,
}

/// What a signer must know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Warning {
    /// thin_history, low_coverage, stale_catalog, censored, no_limit, unknown_pool, …
    pub code: String,
    /// One sentence with the figure.
    pub detail: String,
}
