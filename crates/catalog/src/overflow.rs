//! Where a call goes when its pool is full, where the provider itself sends it on.
//!
//! Leaves a client's own fallbacks to the plan. Invariant: only what a provider documents stands here.

use serde::{Deserialize, Serialize};

/// A provider's own overflow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overflow {
    /// Product whose limits and prices then hold.
    pub to: String,
    /// Whether it happens unless it is switched off.
    pub by_default: bool,
    /// How it is switched on or off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switch: Option<String>,
    /// What sets it off, for example `429`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub triggers: Vec<String>,
    /// How an answer tells that its call was sent on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
    /// How it is billed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub billed: Option<String>,
}
