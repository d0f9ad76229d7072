//! What a replica of a self-hosted model carries, and how its ceiling is read.
//!
//! Figures are the owner's own measurements: no row that comes with Plimsoll has any but a server's
//! documented default. Invariant: the knee lies within the slots.

use serde::{Deserialize, Serialize};

/// One replica of a self-hosted model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Serving {
    /// Server, for example `vLLM`.
    pub server: String,
    /// Requests that it runs at once (`--max-num-seqs`, `--max-concurrent-requests`); more wait or are
    /// refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slots: Option<u64>,
    /// Input tokens a second that it reads at the knee.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens_per_s: Option<u64>,
    /// Output tokens a second that it writes at the knee.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens_per_s: Option<u64>,
    /// Requests in flight at the knee: the most at which the latency objective still holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub knee_concurrent: Option<u64>,
    /// What beyond the slots happens: `wait` or `refuse`, where documented.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beyond_slots: Option<String>,
    /// Metrics that tell concurrency, queue and memory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signals: Vec<String>,
    /// How to read from them which ceiling binds, and how to measure the knee.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reading: Vec<String>,
}

impl Serving {
    /// Requests in flight that `replicas` hold: by the knee where it was measured, else by the slots.
    ///
    /// ```
    /// # use plimsoll_catalog::Serving;
    /// let replica = Serving {
    ///     server: "vLLM".to_owned(),
    ///     slots: Some(256),
    ///     input_tokens_per_s: None,
    ///     output_tokens_per_s: None,
    ///     knee_concurrent: Some(96),
    ///     beyond_slots: None,
    ///     signals: Vec::new(),
    ///     reading: Vec::new(),
    /// };
    /// // 256 fit, but beyond 96 the latency objective is lost.
    /// assert_eq!(replica.concurrent(3), Some(288));
    /// ```
    pub fn concurrent(&self, replicas: u64) -> Option<u64> {
        self.knee_concurrent.or(self.slots).map(|each| each.saturating_mul(replicas))
    }

    /// What is wrong with it, if anything: the field and why.
    pub(crate) fn fault(&self) -> Option<(&'static str, String)> {
        let figures = [
            ("slots", self.slots, 1..=100_000),
            ("knee_concurrent", self.knee_concurrent, 1..=100_000),
            ("input_tokens_per_s", self.input_tokens_per_s, 1..=10_000_000),
            ("output_tokens_per_s", self.output_tokens_per_s, 1..=1_000_000),
        ];
        for (field, figure, plausible) in figures {
            if let Some(figure) = figure.filter(|figure| !plausible.contains(figure)) {
                let (low, high) = (plausible.start(), plausible.end());
                return Some((
                    field,
                    format!("{figure} is not plausible: expected {low} to {high} a replica"),
                ));
            }
        }
        let beyond = self.slots.zip(self.knee_concurrent).is_some_and(|(slots, knee)| knee > slots);
        beyond.then(|| ("knee_concurrent", "the knee lies beyond the slots".to_owned()))
    }
}
