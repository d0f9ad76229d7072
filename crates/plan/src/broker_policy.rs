//! The policy of a token broker as a file: what a gateway in front of the pools enforces (PLANNING, section 5).
//!
//! The shape is `schemas/config/policy.schema.json`. Made from a plan at the limits that it asks for; a gateway
//! loads it, people edit it, and a replay enforces it. Leaves how shares are kept and lent to the crate
//! `replay`. The invariants: amounts are whole numbers, unknown keys are errors, and tier 0's floor is never
//! lent.

use std::collections::BTreeMap;

use jiff::Timestamp;
use plimsoll_catalog::Meter;
use plimsoll_replay::{Jitter, Micros, RetryAfter};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Version of the file's form.
pub(crate) const VERSION: u32 = 1;

/// What a gateway enforces.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BrokerPolicy {
    /// Version of the file's form: 1.
    pub version: u32,
    /// Plan that it was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<String>,
    /// Instant that the plan speaks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_of: Option<Timestamp>,
    /// By pool.
    pub pools: Vec<PoolPolicy>,
    /// Tools of which no more than so many calls may run at once.
    #[serde(default)]
    pub tools: Vec<ToolPolicy>,
    /// How clients retry, by tier.
    #[serde(default)]
    pub retries: Vec<RetryPolicy>,
}

/// What holds in front of one pool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoolPolicy {
    /// Pool key.
    pub pool: String,
    /// Account; absent for any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// Region; absent for any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Most calls at once; absent for no cap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrent: Option<u32>,
    /// What the pool's limits let through, all tiers together.
    #[serde(default)]
    pub buckets: Vec<BucketPolicy>,
    /// By tier; the first in the list goes first.
    #[serde(default)]
    pub tiers: Vec<TierPolicy>,
    /// Calls at once by request class.
    #[serde(default)]
    pub classes: Vec<ClassPolicy>,
    /// Tiers in the order in which they are shed, the first first.
    #[serde(default)]
    pub shed: Vec<u8>,
    /// What a call is charged when it is let in, and what when it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<EstimatePolicy>,
    /// Pool that takes what this one refuses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
    /// Refusals after which a call goes there; never where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failover_after: Option<u32>,
}

/// The rate and the burst of one limit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BucketPolicy {
    /// Dimension.
    pub dimension: String,
    /// Rate: so much in each window.
    pub limit: u64,
    /// Window, seconds.
    pub window_s: u32,
    /// Burst: most that may be drawn at once.
    pub burst: u64,
}

/// What one tier owns of a pool, and how long it waits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TierPolicy {
    /// Tier.
    pub tier: u8,
    /// Reserved amounts by dimension, over the window of the limit. A tier with none shares in the rest.
    #[serde(default)]
    pub floors: BTreeMap<String, u64>,
    /// Reserved calls at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub floor_concurrent: Option<u32>,
    /// Tiers whose unused floor it may take, in this order.
    #[serde(default)]
    pub may_borrow: Vec<u8>,
    /// Longest wait of a call, seconds; then it expires.
    pub max_wait_s: u64,
}

/// A cap on the calls of one request class.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassPolicy {
    /// Request class.
    pub class: String,
    /// Most calls at once.
    pub concurrent: u32,
}

/// What a call costs a limit, to be estimated when it is let in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EstimatePolicy {
    /// Weights of input, cache and cap on output at admission, of output and the rest at settlement.
    pub meter: Meter,
    /// Largest output of the model, which an unset cap may be charged as.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_max_output: Option<u64>,
    /// Calls that one run makes, by workflow: a single call, or a loop that will come again.
    #[serde(default)]
    pub calls_per_run: Vec<CallsPolicy>,
}

/// Calls of a run, of all pools.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallsPolicy {
    /// Workflow.
    pub workflow: String,
    /// Median.
    pub p50: u64,
    /// P95.
    pub p95: u64,
}

/// A cap on a tool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolPolicy {
    /// Tool.
    pub tool: String,
    /// Most calls at once.
    pub concurrent: u32,
}

/// How the clients of one tier retry. Times are milliseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetryPolicy {
    /// Tier.
    pub tier: u8,
    /// Attempts in all.
    pub max_attempts: u16,
    /// Wait before the second attempt, doubled before each further one.
    pub base_ms: u64,
    /// Longest wait.
    pub cap_ms: u64,
    /// none, half or full: which part of the wait is left to chance.
    pub jitter: Jitter,
    /// Whether the provider's `retry-after` is heeded.
    pub heed_retry_after: bool,
}

/// Why a text is no policy.
#[derive(Debug, Error)]
pub enum BrokerPolicyError {
    /// Not JSON, or not of this form.
    #[error("no policy of this version ({0}): make it again with `plimsoll plan --out`")]
    Form(#[from] serde_json::Error),
    /// Of another version.
    #[error(
        "version {0} of the policy's form is not known here, which is {VERSION}: make it again with `plimsoll plan --out`"
    )]
    Version(u32),
}

impl BrokerPolicy {
    /// Reads the text of a policy.
    ///
    /// # Errors
    /// [`BrokerPolicyError`] where it is not JSON of this form.
    pub fn parse(text: &str) -> Result<Self, BrokerPolicyError> {
        let policy: Self = serde_json::from_str(text)?;
        if policy.version != VERSION {
            return Err(BrokerPolicyError::Version(policy.version));
        }
        Ok(policy)
    }
}

impl RetryPolicy {
    pub(crate) fn new(tier: u8, retry: &plimsoll_replay::Retry) -> Self {
        Self {
            tier,
            max_attempts: retry.max_attempts,
            base_ms: retry.base.0 / Micros::millis(1).0,
            cap_ms: retry.cap.0 / Micros::millis(1).0,
            jitter: retry.jitter,
            heed_retry_after: retry.retry_after != RetryAfter::Ignored,
        }
    }
}
