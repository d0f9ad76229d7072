//! `[[workflow]]`: who owns it, how important it is, what it promises and what it may spend.

use rust_decimal::Decimal;
use serde::Deserialize;

use super::Span;
use crate::quantity::Quantity;

/// One workflow.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkflowSpec {
    /// Name, as `plimsoll.toml` gives it or as measured.
    pub name: String,
    /// 0 customer-facing, 1 deadline-bound, 2 internal asynchronous, 3 deferrable. Without it, what
    /// the telemetry tells.
    pub tier: Option<u8>,
    /// Who answers for it.
    pub owner: Option<String>,
    /// What it may run on.
    pub capacity: Option<Capacity>,
    /// Where its data must stay.
    pub residency: Option<String>,
    /// What it promises.
    #[serde(default)]
    pub slo: Slo,
    /// What one run may spend: hard caps that the runtime enforces.
    #[serde(default)]
    pub budget: Budget,
}

/// What a workflow may run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Capacity {
    /// Pay as you go.
    OnDemand,
    /// Pay as you go, in whichever region has room.
    CrossRegion,
    /// Reserved units.
    Reserved,
    /// Within a day, at the batch price.
    Batch,
}

/// Objectives (PLANNING, section 10). Shares are of one.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Slo {
    /// Run length, median.
    pub p50_completion: Option<Span>,
    /// Run length, P95.
    pub p95_completion: Option<Span>,
    /// Time to first token, median.
    pub p50_ttft: Option<Span>,
    /// Time to first token, P95.
    pub p95_ttft: Option<Span>,
    /// Retrieval latency, P95.
    pub p95_retrieval: Option<Span>,
    /// Wait before dispatch, P95.
    pub p95_queue_wait: Option<Span>,
    /// Least share of runs that succeed.
    pub success: Option<Quantity>,
    /// Most runs that time out.
    pub timeout: Option<Quantity>,
    /// Most runs answered in a degraded mode.
    pub degraded: Option<Quantity>,
    /// Most streams that stall.
    pub stall: Option<Quantity>,
    /// Most answers cut by their token cap.
    pub truncation: Option<Quantity>,
    /// Most tool calls that fail.
    pub tool_failure: Option<Quantity>,
    /// Most calls served by the fallback.
    pub fallback: Option<Quantity>,
    /// Most attempts refused by a limit.
    pub throttled: Option<Quantity>,
    /// Most that a good outcome may cost, USD.
    pub cost_per_outcome_usd: Option<Decimal>,
}

/// What one run may spend.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Budget {
    /// Model calls.
    pub model_calls: Option<u64>,
    /// Tool calls.
    pub tool_calls: Option<u64>,
    /// Tools in flight at once.
    pub parallel_tools: Option<u64>,
    /// Retries.
    pub retries: Option<u64>,
    /// Input and output tokens.
    pub tokens: Option<u64>,
    /// From start to end.
    pub wall_clock: Option<Span>,
}
