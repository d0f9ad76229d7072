//! The plan as a document, continued: what happens if nothing is signed.
//!
//! As in `document`, the shapes are what scripts and the report read.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// One pool at the instant that needs a higher limit of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UnsignedPlan {
    /// Pool key.
    pub pool: String,
    /// Account.
    pub account: Option<String>,
    /// Region; null for global pools.
    pub region: Option<String>,
    /// Dimension that has to rise.
    pub dimension: String,
    /// Event that needs it; null where ordinary use does.
    pub event: Option<String>,
    /// The instant whose rates were replayed.
    pub at: Timestamp,
    /// Minutes of each replay.
    pub minutes: u32,
    /// Replays, each with arrivals of its own; every figure is the worst of them.
    pub seeds: u64,
    /// Everybody who runs at that instant, by name.
    pub workflows: Vec<UnsignedWorkflow>,
}

/// One workflow at that instant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UnsignedWorkflow {
    /// Workflow.
    pub workflow: String,
    /// Tier.
    pub tier: u8,
    /// P95 of completion that it promises, seconds; null where it promises none.
    pub slo_p95_s: Option<u64>,
    /// At the limits of the day.
    pub today: UnsignedOutcome,
    /// At the limits that are asked for.
    pub asked: UnsignedOutcome,
}

/// What became of its runs. Shares are of one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UnsignedOutcome {
    /// Runs that arrived, over all replays.
    pub runs: u64,
    /// Their operations, over all replays; a run that is lost has no more of them.
    pub operations: u64,
    /// Share of operations that a limit refused at least once.
    pub throttled_share: f64,
    /// Share of runs of which an operation never got through.
    pub lost_share: f64,
    /// P95 of an operation's wait, milliseconds.
    pub wait_p95_ms: f64,
    /// P95 of a run's time from arrival to end, of those that ended well, milliseconds; null where none did.
    pub completion_p95_ms: Option<f64>,
    /// Operations by which the queue grows each minute.
    pub queue_per_min: f64,
}
