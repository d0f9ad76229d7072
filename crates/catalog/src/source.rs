//! Where a figure comes from, and what is known to be uncertain about it.

use jiff::{ToSpan, civil::Date};
use serde::Deserialize;

/// Days after which a source is called stale (`PLANNING.md` 2).
const FRESH_DAYS: i64 = 180;

/// A page or document that figures were read from.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Title.
    pub title: String,
    /// Address, where it has one.
    pub url: Option<String>,
    /// Day of the copy that was read.
    pub read_on: Date,
    /// How well it is known.
    pub confidence: Confidence,
}

impl Source {
    /// Whether it was read more than 180 days before `as_of`.
    pub fn is_stale(&self, as_of: Date) -> bool {
        self.read_on.saturating_add(FRESH_DAYS.days()) < as_of
    }
}

/// How well a source is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// The provider's own page or repository.
    OwnPage,
    /// Somebody else's text that quotes or restates the provider's page.
    SecondHand,
    /// Worked out from figures that are known.
    Derived,
    /// Not read anywhere: a value to work with until there are own data.
    Assumed,
}

/// A point on which sources conflict or are silent, and what this entry does about it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flag {
    /// The question.
    pub question: String,
    /// What the entry takes for true: the answer that asks for more quota, unless `because` says
    /// otherwise.
    pub taken: String,
    /// Who says what.
    pub because: String,
}
