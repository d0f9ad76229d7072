//! Degradation triggers in the plan's document.

use serde::{Deserialize, Serialize};

/// One limit that can be exhausted, with the steps that keep it from being.
///
/// A step's `utilization` is `1 - growth_per_min x minutes / limit`: from there, at the event's own growth of
/// demand, the limit is exhausted in `minutes`. Fractions are to the nearest millionth.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DegradationPlan {
    /// Pool key.
    pub pool: String,
    /// Account.
    pub account: Option<String>,
    /// Region; null for global pools.
    pub region: Option<String>,
    /// Dimension.
    pub dimension: String,
    /// Event whose growth is meant; null for that of an ordinary hour.
    pub event: Option<String>,
    /// Limit in force then.
    pub limit: u64,
    /// Demand before: in the hour before by the percentile, or of a mean minute, in the dimension's unit.
    pub from_demand: u64,
    /// Demand that it grows to.
    pub to_demand: u64,
    /// Minutes in which it does: the mean length of a run, since runs fill up over one; an hour where only the
    /// hour of the week changes; one window where only measured minutes tell, from their mean to their percentile.
    pub ramp_minutes: f64,
    /// Growth of demand a minute, in the dimension's unit.
    pub growth_per_min: f64,
    /// Minutes until a step is felt: one window of the limit, over which use is read, and one call.
    pub felt_after_minutes: f64,
    /// Whether the demand exceeds the limit at all.
    pub exhausts: bool,
    /// Steps, mildest first.
    pub steps: Vec<DegradationStep>,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DegradationStep {
    /// shorten_output, cut_context, stop_parallel_tools, smaller_model, go_async, reject.
    pub step: String,
    /// Share of the limit in use from which on to take it; null where demand grows so fast that it is
    /// to be taken as the event starts.
    pub utilization: Option<f64>,
    /// Minutes to exhaustion from there.
    pub minutes: f64,
    /// Workflows that take it, least urgent first.
    pub workflows: Vec<String>,
    /// What to do, as one sentence.
    pub detail: String,
}
