//! `[[pool]]`: one provider limit, what was granted on it and what the provider answered about it.

use std::fmt;

use jiff::civil::Date;
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};

use super::{LimitSpec, Span};

/// One pool.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoolSpec {
    /// `provider/product/scope/model`.
    pub key: String,
    /// Account, subscription or organisation, as `plimsoll.toml` names it. Without it, any.
    pub account: Option<String>,
    /// Region. Without it, any.
    pub region: Option<String>,
    /// Limits, effective-dated. Several may bind one call.
    #[serde(default)]
    pub limits: Vec<LimitSpec>,
    /// Calendar days from filing to grant. Without it, the ledger's P90, else the catalog's.
    pub lead_time: Option<Span>,
    /// Who files requests for it. Without it, the owner of its lowest-tier workflow.
    pub owner: Option<String>,
    /// Where calls go when this pool is exhausted.
    pub fallback: Option<Fallback>,
    /// Question 1: is the limit hard?
    #[serde(default)]
    pub hard: Answer,
    /// Question 2: per minute, rolling window or token bucket?
    #[serde(default)]
    pub window: Answer,
    /// Question 3: are input and output counted apart?
    #[serde(default)]
    pub input_output_apart: Answer,
    /// Question 4: do failed attempts count?
    #[serde(default)]
    pub failed_attempts_count: Answer,
    /// Question 5: do fallback deployments share the pool?
    #[serde(default)]
    pub fallback_shares_pool: Answer,
    /// Question 6: concurrency caps beyond the published limits?
    #[serde(default)]
    pub hidden_concurrency: Answer,
    /// Question 7: what happens in a regional failover?
    #[serde(default)]
    pub failover: Answer,
    /// Line on which it starts, from 1.
    #[serde(skip)]
    pub line: usize,
}

/// Where calls go when a pool is exhausted, and what was done to be sure of it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fallback {
    /// Pool key.
    pub pool: String,
    /// Day on which its quota was confirmed to be enough.
    pub quota_confirmed: Option<Date>,
    /// Day on which a call was last made with its credentials.
    pub credentials_tested: Option<Date>,
    /// Day on which its answers were last evaluated.
    pub evaluation: Option<Date>,
}

/// What a provider answered: true, false, a number or words; `None` where "unknown" or not asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer(pub Option<String>);

impl PoolSpec {
    /// Whether calls of this key, account and region fall under this entry.
    #[must_use]
    pub fn covers(&self, key: &str, account: Option<&str>, region: Option<&str>) -> bool {
        let fits = |mine: &Option<String>, theirs| mine.is_none() || mine.as_deref() == theirs;
        self.key == key && fits(&self.account, account) && fits(&self.region, region)
    }

    /// Whether they might, where account or region is not told.
    pub(super) fn may_cover(&self, key: &str, account: Option<&str>, region: Option<&str>) -> bool {
        self.covers(key, account.or(self.account.as_deref()), region.or(self.region.as_deref()))
    }

    /// The limit in force on a day of the calendar's time zone: of each scope the newest, of those
    /// the smallest.
    #[must_use]
    pub fn limit(&self, dimension: &str, day: Date) -> Option<u64> {
        LimitSpec::in_force(&self.limits, dimension, day)
    }

    /// The limit over time: each day on which it changes, with what holds from then on.
    #[must_use]
    pub fn steps(&self, dimension: &str) -> Vec<(Option<Date>, u64)> {
        let mut days: Vec<Option<Date>> = self.limits.iter().map(|line| line.from).collect();
        days.sort_unstable();
        days.dedup();
        let held = |day: &Option<Date>| self.limit(dimension, day.unwrap_or(Date::MIN));
        let mut steps: Vec<_> = days.iter().filter_map(|day| Some((*day, held(day)?))).collect();
        steps.dedup_by_key(|(_, limit)| *limit);
        steps
    }

    /// Dimensions that any limit names, sorted.
    #[must_use]
    pub fn dimensions(&self) -> Vec<&str> {
        let mut names: Vec<&str> =
            self.limits.iter().flat_map(|limit| limit.values.keys()).map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The seven questions to ask a provider that are still unknown (PLANNING, section 10).
    #[must_use]
    pub fn open_questions(&self) -> Vec<&'static str> {
        [
            (&self.hard, "hard or soft limits"),
            (&self.window, "per minute, rolling window or token bucket"),
            (&self.input_output_apart, "input and output counted apart"),
            (&self.failed_attempts_count, "do failed attempts count"),
            (&self.fallback_shares_pool, "do fallback deployments share the pool"),
            (&self.hidden_concurrency, "concurrency caps beyond the published limits"),
            (&self.failover, "what happens in a regional failover"),
        ]
        .into_iter()
        .filter(|(answer, _)| answer.0.is_none())
        .map(|(_, question)| question)
        .collect()
    }
}

impl<'de> Deserialize<'de> for Answer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Words;
        impl Visitor<'_> for Words {
            type Value = Answer;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false, a number, words or \"unknown\"")
            }
            fn visit_bool<E: de::Error>(self, value: bool) -> Result<Answer, E> {
                Ok(Answer(Some(value.to_string())))
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Answer, E> {
                Ok(Answer(Some(value.to_string())))
            }
            fn visit_str<E: de::Error>(self, value: &str) -> Result<Answer, E> {
                Ok(Answer((value != "unknown").then(|| value.to_owned())))
            }
        }
        deserializer.deserialize_any(Words)
    }
}
