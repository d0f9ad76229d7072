//! `[workflow.tools]`: what a run executes between its generations.

use serde::Deserialize;

use super::{Days, Spread};

/// The tools of a workflow.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tools {
    /// Names, drawn with equal chances.
    pub(crate) names: Vec<String>,
    /// The last tool of every run that has one: it posts under an idempotency key.
    pub(crate) post: Option<String>,
    /// Number of tools, where the calls are not given by a mix.
    pub(crate) count: Option<Spread>,
    /// Seconds that one takes.
    pub(crate) latency_s: Spread,
    /// Bytes that one returns.
    pub(crate) payload_bytes: Spread,
    /// How many may run at once within a run.
    #[serde(default = "one")]
    pub(crate) parallel: u64,
    /// Share of gaps between calls in which one more tool runs beside the others.
    #[serde(default)]
    pub(crate) beside_share: f64,
    /// Share of executions that fail once and are repeated.
    #[serde(default)]
    pub(crate) retry_share: f64,
    /// Days on which the tools are slower.
    pub(crate) slow: Option<Slow>,
}

/// When tools are slower, and how much.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Slow {
    /// Days.
    pub(crate) days: Days,
    /// What latencies are multiplied by.
    pub(crate) factor: f64,
}

const fn one() -> u64 {
    1
}
