//! `[workflow.troubles]`: what goes wrong, beyond what the limits of the pools bring about.

use jiff::civil::Date;
use serde::Deserialize;

use super::Spread;

/// The troubles of a workflow; what is not given does not happen.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Troubles {
    /// Share of calls whose first attempt meets a failing server and is repeated.
    pub(crate) retry_share: f64,
    /// Calls that the client gives up on and repeats as they were.
    pub(crate) timeout: Option<Timeout>,
    /// Streams that pause.
    pub(crate) stall: Option<Stall>,
    /// Streams whose client did not ask for usage.
    pub(crate) usage_missing: Option<UsageMissing>,
    /// Attempts that a refused call makes before its run gives up or parks.
    pub(crate) attempts: Option<u64>,
    /// Seconds before the second attempt; each further one waits twice as long.
    pub(crate) backoff_s: Option<f64>,
    /// Runs that checkpoint when a limit refuses them for good, and come back later.
    pub(crate) park: Option<Park>,
    /// Runs whose result is asked for once more from another model.
    pub(crate) fallback: Option<Fallback>,
    /// What new runs do without while the pool is nearly full.
    pub(crate) degrade: Option<Degrade>,
}

/// Calls that take longer than the client waits.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Timeout {
    /// Share of attempts.
    pub(crate) share: f64,
    /// Seconds that the client waits.
    pub(crate) after_s: f64,
}

/// Pauses within a stream.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Stall {
    /// Share of streams.
    pub(crate) share: f64,
    /// Seconds of the longest pause.
    pub(crate) seconds: Spread,
}

/// Streams without usage.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UsageMissing {
    /// Share of streams.
    pub(crate) share: f64,
    /// Day on which the fix was rolled out.
    pub(crate) until: Date,
}

/// Runs that wait outside for capacity.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Park {
    /// Minutes until one comes back.
    pub(crate) minutes: Spread,
    /// Share that lost the checkpoint and starts again from step one.
    pub(crate) restart_share: f64,
    /// How often a run parks before it fails.
    pub(crate) most: u64,
}

/// A second opinion from another pool.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fallback {
    /// Share of runs.
    pub(crate) share: f64,
    /// Pool that answers.
    pub(crate) pool: String,
}

/// Mildness at the door.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Degrade {
    /// Utilisation of the pool, 0 to 1, from which on it applies.
    pub(crate) above: f64,
    /// Name of what is left out.
    pub(crate) mode: String,
    /// Chunks that are kept of a retrieval.
    pub(crate) chunks: u64,
}
