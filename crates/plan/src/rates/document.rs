//! What plan.json says of rates, key for key: events, growth, and the ordinary week.
//!
//! The shapes here are final: scripts and the report read them. Rates are runs started a minute;
//! shares are of one; a figure that is not known is null.

use jiff::{Timestamp, civil::Date};
use serde::{Deserialize, Serialize};

/// What an event does to one workflow, at its next occurrence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventRatePlan {
    /// Event.
    pub event: String,
    /// Workflow that it moves.
    pub workflow: String,
    /// Start of the next occurrence.
    pub next: Timestamp,
    /// runs_per_min, in_flight, measured, multiplier, assumed; null where no rate is known, so that the
    /// workflow is in no figure of the event.
    pub rate_from: Option<String>,
    /// Rate that is expected: as likely exceeded as not, where it was forecast.
    pub runs_per_min: Option<f64>,
    /// P80 of the forecast; the expected rate where the spec gives it.
    pub runs_per_min_p80: Option<f64>,
    /// P95 of the forecast, and never less than was seen; the expected rate where the spec gives it.
    pub runs_per_min_p95: Option<f64>,
    /// Past occurrences that were measured, whether or not the rate comes from them.
    pub occurrences: u32,
    /// Those among them that are lower bounds, since a limit refused something or the lake covers a
    /// part only.
    pub censored: u32,
    /// Weight of those occurrences beside what is assumed of events; null where the rate is not made of
    /// them.
    pub own_weight: Option<f64>,
    /// What is assumed of events: times the busy hour of normal days.
    pub assumed_ratio: f64,
    /// Workflows that this assumption was learned from; 0 where it is the policy's.
    pub assumed_from: u32,
    /// Busy hour of normal business days: median of the last 20 days' busiest hours.
    pub normal_busy_runs_per_min: Option<f64>,
    /// The highest ratio to the normal busy hour that was seen, and the share of coming occurrences that
    /// stay below it: `n / (n + 1)`, with n the occurrences.
    pub highest_seen: Option<f64>,
    /// That share.
    pub highest_seen_covers: Option<f64>,
    /// The ratio that at least nine in ten coming occurrences stay below whatever their distribution;
    /// null for fewer than nine occurrences.
    pub conformal_p90: Option<f64>,
    /// Past occurrences, earliest first.
    pub past: Vec<OccurrencePlan>,
    /// How the rate came about, as a clause, or why there is none.
    pub detail: String,
}

/// One past occurrence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OccurrencePlan {
    /// First local day.
    pub day: Date,
    /// Rate in its busiest hour.
    pub runs_per_min: f64,
    /// That over the busy hour of the normal days before it.
    pub ratio: Option<f64>,
    /// The figure is a lower bound.
    pub censored: bool,
    /// What the planner's method says of it from the normal days and the occurrences before it alone: as
    /// likely exceeded as not; null where nothing was known before it.
    #[serde(default)]
    pub forecast_p50: Option<f64>,
    /// The same at P95, and no less than was seen before it.
    #[serde(default)]
    pub forecast_p95: Option<f64>,
}

/// Where a workflow's level is going.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GrowthPlan {
    /// Workflow.
    pub workflow: String,
    /// damped_theil_sen, ets, or the baseline that they did not beat: level (no growth), drift,
    /// seasonal_naive; null where too little is known and no growth is assumed.
    pub method: Option<String>,
    /// The best baseline.
    pub baseline: Option<String>,
    /// Weeks of history.
    pub weeks: u32,
    /// Factor on today's level, by weeks ahead; the last one is held after it.
    pub ahead: Vec<GrowthAhead>,
    /// How each method did in the rolling backtest.
    pub scorecard: Vec<GrowthScore>,
    /// What was chosen and why, as a sentence.
    pub detail: String,
}

/// Growth after some weeks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GrowthAhead {
    /// Weeks ahead.
    pub weeks: u32,
    /// P5 of the factor.
    pub low: f64,
    /// Factor on today's level.
    pub factor: f64,
    /// P95 of the factor.
    pub high: f64,
}

/// One method in the backtest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GrowthScore {
    /// Method.
    pub method: String,
    /// Mean over origins of the mean absolute scaled error: below 1 is better than "like last week".
    pub mase: f64,
    /// By origin, earliest first.
    pub by_origin: Vec<f64>,
}

/// How fast a workflow starts runs in each hour of an ordinary week.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadPlan {
    /// Workflow.
    pub workflow: String,
    /// Hours of the history behind each figure. Every list has 192 entries: the hours of the week from
    /// Monday 00:00 local, then the 24 hours of a holiday. Hours inside the workflow's events are left
    /// out.
    pub hours: Vec<u32>,
    /// Mean: what the plan's ordinary rates are.
    pub mean: Vec<Option<f64>>,
    /// Median.
    pub p50: Vec<Option<f64>>,
    /// Nine in ten hours stay at or below (the busiest hour where fewer than ten were seen).
    pub p90: Vec<Option<f64>>,
}
