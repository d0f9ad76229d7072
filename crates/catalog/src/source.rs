//! Where a figure comes from, and how well it is known.
//!
//! Invariant: a source has the day of the copy that was read, so that its age can be told.

use jiff::{ToSpan, civil::Date};
use serde::{Deserialize, Serialize};

/// Days after which a source is called stale (`PLANNING.md` 2).
const FRESH_DAYS: i64 = 180;

/// A page or document that figures were read from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Title.
    pub title: String,
    /// Address, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Day of the copy that was read.
    pub read_on: Date,
    /// How well it is known.
    pub confidence: Confidence,
}

impl Source {
    /// Whether it was read more than 180 days before `as_of`.
    pub fn is_stale(&self, as_of: Date) -> bool {
        self.stale_from() <= as_of
    }

    /// First day on which it is stale.
    pub fn stale_from(&self) -> Date {
        self.read_on.saturating_add((FRESH_DAYS + 1).days())
    }
}

/// How well a source is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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
