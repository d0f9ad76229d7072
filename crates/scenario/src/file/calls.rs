//! `[[workflow.before]]` and `[workflow.calls]`: what a run asks of models.

use serde::Deserialize;

use super::Spread;

/// Something that a run does once, before its first generation.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Before {
    /// What it is.
    pub(crate) operation: Operation,
    /// Name of the step.
    pub(crate) step: String,
    /// Pool; none for a retrieval.
    pub(crate) pool: Option<String>,
    /// Input tokens of the call.
    pub(crate) input: Option<Spread>,
    /// Output tokens of a chat.
    pub(crate) output: Option<Spread>,
    /// Cap on the output, in tokens.
    pub(crate) max_tokens: Option<u64>,
    /// Chunks that a retrieval finds.
    pub(crate) chunks: Option<Spread>,
    /// Tokens of a chunk.
    pub(crate) chunk_tokens: Option<Spread>,
    /// Seconds that a retrieval takes.
    pub(crate) latency_s: Option<Spread>,
}

/// Operations that may come before the generations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Operation {
    /// A call that generates.
    Chat,
    /// A call that embeds.
    Embeddings,
    /// A search for context.
    Retrieval,
}

/// The generations of a run.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Calls {
    /// Pool that they draw on.
    pub(crate) pool: String,
    /// Pool that takes a call which the first one refused.
    pub(crate) spill: Option<String>,
    /// Kinds of run: how many calls and tools each share of runs has. This or `count`.
    #[serde(default)]
    pub(crate) mix: Vec<Mix>,
    /// Number of calls, where it is not given by a mix.
    pub(crate) count: Option<Spread>,
    /// Input tokens a call, without what was retrieved; with `growth`, over all steps.
    pub(crate) input: Spread,
    /// How the input grows from step to step.
    pub(crate) growth: Option<Growth>,
    /// Output tokens a call.
    pub(crate) output: Spread,
    /// Cap on the output, in tokens; unset where not given.
    pub(crate) max_tokens: Option<u64>,
    /// Whether answers are streamed.
    #[serde(default)]
    pub(crate) stream: bool,
    /// What providers find in their caches.
    pub(crate) cached: Option<Cached>,
    /// Share of the input (with growth, of what grew) that is history.
    #[serde(default)]
    pub(crate) history_share: f64,
    /// Share of it that is tool results.
    #[serde(default)]
    pub(crate) tool_result_share: f64,
}

/// One kind of run.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mix {
    /// Share of runs; shares are weighed against each other.
    pub(crate) share: f64,
    /// Generations a run.
    pub(crate) calls: u64,
    /// Tools a run.
    pub(crate) tools: u64,
}

/// Straight growth of the input over the steps of a run.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Growth {
    /// How many times the first step's input a later one has.
    pub(crate) factor: f64,
    /// Which step that is, from 1.
    pub(crate) at_step: u64,
    /// How far runs differ from each other: P95 over P50 of a run's factor.
    pub(crate) run_p95_over_p50: f64,
}

/// What providers find in their caches: a stable prefix, or a share of blocks.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cached {
    /// Tokens of the prefix that every call of a tenant begins with; written when it has expired.
    pub(crate) prefix_tokens: Option<u64>,
    /// Seconds that a prefix lives after its last use.
    pub(crate) ttl_s: Option<u64>,
    /// Mean share of the input that is read from the cache.
    pub(crate) share: Option<f64>,
    /// Tokens in a block, of which whole ones are cached.
    pub(crate) block_tokens: Option<u64>,
}

impl Growth {
    /// What each step adds, in inputs of the first.
    pub(crate) fn slope(&self) -> f64 {
        (self.factor - 1.0) / (self.at_step.max(2) - 1) as f64
    }
}

impl Calls {
    /// Mean input of step one, in tokens: such that `input` is the mean over all calls of the mix.
    pub(crate) fn first_input(&self) -> f64 {
        let Some(growth) = self.growth else { return self.input.mean() };
        let (mut calls, mut firsts) = (0.0, 0.0);
        for kind in &self.mix {
            let count = kind.calls as f64;
            calls += kind.share * count;
            firsts += kind.share * count * (1.0 + growth.slope() * (count - 1.0) / 2.0);
        }
        self.input.mean() * calls / firsts
    }
}
