//! `[[pool]]`: one provider limit, how it meters, and how its model answers.

use jiff::civil::Date;
use serde::Deserialize;

/// A pool that workflows draw on.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pool {
    /// What workflows in this file call it.
    pub(crate) name: String,
    /// `gen_ai.provider.name`.
    pub(crate) provider: String,
    /// Model as requests name it; on Azure the deployment.
    pub(crate) model: String,
    /// Model that answers, with its version.
    pub(crate) response_model: String,
    /// `server.address`.
    pub(crate) server: String,
    /// Instrumentation scope of the client library.
    pub(crate) scope: String,
    /// Version of that scope.
    pub(crate) scope_version: String,
    /// How calls are charged.
    pub(crate) meter: Meter,
    /// Limits, each from its day on, oldest first.
    pub(crate) limits: Vec<Limits>,
    /// How much of a minute's limit may be taken at once, in seconds of refill.
    pub(crate) burst_s: f64,
    /// Input tokens that fit; longer prompts are cut to it.
    pub(crate) context_tokens: u64,
    /// What the provider assumes where `max_tokens` is unset, in tokens.
    #[serde(default)]
    pub(crate) unset_max_tokens: u64,
    /// Quota tokens that one output token costs when the call settles.
    #[serde(default = "one")]
    pub(crate) output_weight: f64,
    /// Which rate-limit headers the answers carry.
    #[serde(default)]
    pub(crate) headers: Headers,
    /// `error.type` of a refusal, as the client library names it.
    pub(crate) refusal: String,
    /// Seconds to the first token of an idle pool.
    pub(crate) first_token_s: f64,
    /// Milliseconds a token after that.
    pub(crate) token_ms: f64,
    /// How much slower a full pool answers than an idle one: 0.25 is a quarter.
    #[serde(default)]
    pub(crate) slower_when_full: f64,
}

/// How a pool charges calls; the arithmetic is with the simulated pools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Meter {
    /// Input and output apart; cache reads and `max_tokens` cost nothing (Anthropic).
    Split,
    /// One count: input and `max_tokens` at admission, input and weighted output at settlement
    /// (Bedrock runtime, Azure standard).
    Combined,
    /// Utilisation of units held: as combined, without cached input, admitted while below full
    /// (Azure provisioned).
    Units,
}

/// Which rate-limit headers answers carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Headers {
    /// None (Bedrock).
    #[default]
    None,
    /// `anthropic-ratelimit-*`, `retry-after` in seconds.
    Anthropic,
    /// `x-ratelimit-*`, `retry-after-ms`.
    Azure,
}

/// What a pool allows from a day on; what is not given is not limited.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Limits {
    /// First day, in the scenario's time zone.
    pub(crate) from: Date,
    /// Requests a minute.
    pub(crate) requests_per_min: Option<u64>,
    /// Input tokens a minute.
    pub(crate) input_tokens_per_min: Option<u64>,
    /// Output tokens a minute.
    pub(crate) output_tokens_per_min: Option<u64>,
    /// Combined tokens a minute.
    pub(crate) tokens_per_min: Option<u64>,
    /// Units held.
    pub(crate) units: Option<u64>,
    /// Weighted tokens a minute that one unit carries.
    pub(crate) tokens_per_min_per_unit: Option<u64>,
}

const fn one() -> f64 {
    1.0
}
