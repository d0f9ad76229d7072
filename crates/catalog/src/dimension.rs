//! What a limit counts, over which window, and how the provider names it.
//!
//! Invariant: the name, the window and the measure of a dimension agree.

use std::fmt;

use plimsoll_toml::meant;
use serde::{Deserialize, Serialize};

/// One limit of a pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dimension {
    /// One of the names of [`Dimension::NAMES`].
    pub name: String,
    /// What it counts.
    pub counts: Measure,
    /// Length of the window that the limit is for, seconds; 0 for what is held while a call or a job
    /// is in flight.
    pub window_s: u32,
    /// How the provider keeps the count; none where no source tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enforcement: Option<Enforcement>,
    /// Where the provider holds a share of the limit over shorter slices too: their length, seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slice_s: Option<u32>,
    /// Where the same limit stands at several levels, each of which binds, the innermost first:
    /// `["project", "organisation"]`. Empty: at the account alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<String>,
    /// The provider has this limit for some accounts and models only: it exists where a limit is
    /// given, and a missing one is not zero.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_where_listed: bool,
    /// The limit is units held x throughput of a unit, not a granted figure.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub from_units: bool,
    /// The provider's own name and code for it.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub quota: Option<Quota>,
}

impl Dimension {
    /// Every name that a limit can have, with what it counts and its window in seconds.
    pub const NAMES: [(&str, Measure, u32); 13] = [
        ("requests_per_min", Measure::Requests, 60),
        ("input_tokens_per_min", Measure::InputTokens, 60),
        ("output_tokens_per_min", Measure::OutputTokens, 60),
        ("tokens_per_min", Measure::Tokens, 60),
        ("requests_per_day", Measure::Requests, 86_400),
        ("input_tokens_per_day", Measure::InputTokens, 86_400),
        ("output_tokens_per_day", Measure::OutputTokens, 86_400),
        ("tokens_per_day", Measure::Tokens, 86_400),
        ("concurrent", Measure::Concurrent, 0),
        ("enqueued_tokens", Measure::EnqueuedTokens, 0),
        ("enqueued_requests", Measure::Concurrent, 0),
        ("enqueued_jobs", Measure::Jobs, 0),
        ("usd_per_min", Measure::Usd, 60),
    ];

    /// What one slice of a limit lets through: 10 of 600 requests a minute, in slices of a second.
    pub fn per_slice(&self, limit: u64) -> Option<u64> {
        let slice = self.slice_s?;
        Some(limit.saturating_mul(slice.into()) / u64::from(self.window_s.max(1)))
    }

    /// What is wrong with it, if anything.
    pub(crate) fn fault(&self) -> Option<String> {
        let Some((_, counts, window_s)) = Self::NAMES.into_iter().find(|(name, ..)| *name == self.name)
        else {
            let names = Self::NAMES.map(|(name, ..)| name);
            let meant = meant(&self.name, names);
            return Some(format!("`{}` is no dimension{meant}; write {}", self.name, names.join(", ")));
        };
        if (counts, window_s) == (self.counts, self.window_s) {
            return None;
        }
        Some(format!("`{}` counts {counts} over {window_s} s", self.name))
    }
}

/// What can be counted. A call draws an amount of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
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
    /// Requests in flight, or waiting in a batch: each holds one from its start to its end.
    Concurrent,
    /// Input tokens of batch jobs that have not ended.
    EnqueuedTokens,
    /// Batch jobs that have not ended, of which a call is a part.
    Jobs,
    /// List price of what was used.
    Usd,
}

impl Measure {
    /// What a call draws, in the order of the tables.
    pub const ALL: [Self; 4] = [Self::Requests, Self::InputTokens, Self::OutputTokens, Self::Tokens];
}

impl fmt::Display for Measure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Requests => "requests",
            Self::InputTokens => "input_tokens",
            Self::OutputTokens => "output_tokens",
            Self::Tokens => "tokens",
            Self::Concurrent => "concurrent",
            Self::EnqueuedTokens => "enqueued_tokens",
            Self::Jobs => "jobs",
            Self::Usd => "usd",
        })
    }
}

/// How a provider keeps the count of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quota {
    /// Exact name.
    pub name: String,
    /// Code, where it has one that was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Whether it can be raised; none where no source tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adjustable: Option<bool>,
    /// What accounts have without asking, where it was found; a new account may have less.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<u64>,
}
