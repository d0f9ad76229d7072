//! The seven questions to ask a provider about a limit, and what its pages answer.
//!
//! Invariant: an answer that no source gives is absent; the question then stays to be asked, and a plan
//! names it as a risk.

use serde::{Deserialize, Serialize};

/// What a provider's pages say to the seven questions, in the order and under the names of a plan's
/// `[[pool]]`, where a user's own answers stand.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answers {
    /// Hard or soft?
    pub hard: Option<String>,
    /// Per minute, rolling window or token bucket?
    pub window: Option<String>,
    /// Input and output counted apart?
    pub input_output_apart: Option<String>,
    /// Do failed attempts count (429, 5xx)?
    pub failed_attempts_count: Option<String>,
    /// Do fallback deployments share the pool?
    pub fallback_shares_pool: Option<String>,
    /// Concurrency caps beyond the published limits?
    pub hidden_concurrency: Option<String>,
    /// What happens in a regional failover?
    pub failover: Option<String>,
}

impl Answers {
    /// Each question with its name and its answer, where known.
    pub fn questions(&self) -> [(&'static str, &'static str, Option<&str>); 7] {
        [
            ("hard", "is the limit hard or soft?", self.hard.as_deref()),
            ("window", "per minute, rolling window or token bucket?", self.window.as_deref()),
            ("input_output_apart", "are input and output counted apart?", self.input_output_apart.as_deref()),
            (
                "failed_attempts_count",
                "do failed attempts count (429, 5xx)?",
                self.failed_attempts_count.as_deref(),
            ),
            (
                "fallback_shares_pool",
                "do fallback deployments share the pool?",
                self.fallback_shares_pool.as_deref(),
            ),
            (
                "hidden_concurrency",
                "are there concurrency caps beyond the published limits?",
                self.hidden_concurrency.as_deref(),
            ),
            ("failover", "what happens in a regional failover?", self.failover.as_deref()),
        ]
    }
}
