//! What a limit counts, over which window, and how the provider names it.
//!
//! Invariant: the name, the window and the measure of a dimension agree.

use std::fmt;

use serde::Deserialize;

/// One limit of a pool.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dimension {
    /// `requests_per_min`, `input_tokens_per_min`, `output_tokens_per_min`, `tokens_per_min`,
    /// `requests_per_day`, `tokens_per_day`.
    pub name: String,
    /// What it counts.
    pub counts: Measure,
    /// Length of the window that the limit is for, seconds.
    pub window_s: u32,
    /// How the provider keeps the count; none where no source tells.
    pub enforcement: Option<Enforcement>,
    /// Where the provider holds a share of the limit over shorter slices too: their length, seconds.
    pub slice_s: Option<u32>,
    /// The provider has this limit for some accounts and models only: it exists where a limit is
    /// given, and a missing one is not zero.
    #[serde(default)]
    pub only_where_listed: bool,
    /// The limit is units held x throughput of a unit, not a granted figure.
    #[serde(default)]
    pub from_units: bool,
    /// The provider's own name and code for it.
    #[serde(skip)]
    pub quota: Option<Quota>,
}

impl Dimension {
    /// What one slice of a limit lets through: 10 of 600 requests a minute, in slices of a second.
    pub fn per_slice(&self, limit: u64) -> Option<u64> {
        let slice = self.slice_s?;
        Some(limit.saturating_mul(slice.into()) / u64::from(self.window_s.max(1)))
    }

    /// What is wrong with it, if anything.
    pub(crate) fn fault(&self) -> Option<String> {
        let expected = match self.name.as_str() {
            "requests_per_min" => (Measure::Requests, 60),
            "input_tokens_per_min" => (Measure::InputTokens, 60),
            "output_tokens_per_min" => (Measure::OutputTokens, 60),
            "tokens_per_min" => (Measure::Tokens, 60),
            "requests_per_day" => (Measure::Requests, 86_400),
            "tokens_per_day" => (Measure::Tokens, 86_400),
            other => {
                return Some(format!(
                    "`{other}` is no dimension; write requests_per_min, input_tokens_per_min, \
                     output_tokens_per_min, tokens_per_min, requests_per_day or tokens_per_day"
                ));
            }
        };
        (expected != (self.counts, self.window_s))
            .then(|| format!("`{}` counts {} over {} s", self.name, expected.0, expected.1))
    }
}

/// What can be counted. A call draws an amount of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Requests on the wire.
    Requests,
    /// Input tokens, as the provider weighs them.
    InputTokens,
    /// Output tokens, as the provider weighs them.
    OutputTokens,
    /// Input and output in one sum, as the provider weighs them.
    Tokens,
}

impl Measure {
    /// All measures, in the order of the tables.
    pub const ALL: [Self; 4] = [Self::Requests, Self::InputTokens, Self::OutputTokens, Self::Tokens];
}

impl fmt::Display for Measure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Requests => "requests",
            Self::InputTokens => "input_tokens",
            Self::OutputTokens => "output_tokens",
            Self::Tokens => "tokens",
        })
    }
}

/// How a provider keeps the count of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Enforcement {
    /// Refilled continuously, up to one window's worth.
    TokenBucket,
    /// Set to zero at the start of each window.
    FixedWindow,
    /// Fills with use, drains at the limit's rate, refuses when full.
    LeakyBucket,
}

/// A quota in the provider's own words.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quota {
    /// Exact name.
    pub name: String,
    /// Code, where it has one that was found.
    pub code: Option<String>,
    /// Whether it can be raised; none where no source tells.
    pub adjustable: Option<bool>,
}
