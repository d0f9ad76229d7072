//! Service tiers: which limits a call of one draws on, and at what price.
//!
//! A tier is asked for by the call (`service_tier`), or bought beforehand. Leaves what the limits count
//! to the rows of the products that a rule names. Invariant: a factor that no source tells is absent,
//! never 1.

use std::{fmt, str::FromStr};

use plimsoll_toml::meant;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use crate::exact::factor;

/// How a call is served.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// On demand; what providers call `default`, `standard` or `auto`.
    #[default]
    Standard,
    /// Before others, at a premium; OpenAI calls it `fast`.
    Priority,
    /// After others, at a discount.
    Flex,
    /// Within a day, from a file.
    Batch,
    /// From capacity that was bought beforehand.
    Reserved,
}

impl Tier {
    /// All tiers.
    pub const ALL: [Self; 5] = [Self::Standard, Self::Priority, Self::Flex, Self::Batch, Self::Reserved];

    fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Priority => "priority",
            Self::Flex => "flex",
            Self::Batch => "batch",
            Self::Reserved => "reserved",
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// A text that names no tier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no service tier{meant}; there are standard, priority, flex, batch and reserved")]
pub struct TierError {
    text: String,
    meant: String,
}

impl FromStr for Tier {
    type Err = TierError;

    /// Reads a tier, by our name or by a provider's (`default`, `auto`, `fast`).
    fn from_str(text: &str) -> Result<Self, TierError> {
        let named = Self::ALL.into_iter().find(|tier| tier.name() == text);
        named
            .or(match text {
                "default" | "auto" => Some(Self::Standard),
                "fast" => Some(Self::Priority),
                _ => None,
            })
            .ok_or_else(|| TierError { text: text.to_owned(), meant: meant(text, Self::ALL.map(Self::name)) })
    }
}

/// What a pool's provider does with calls of one tier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TierRule {
    /// The tier.
    pub tier: Tier,
    /// Products whose limits such a call draws on, the tier's own first: `["priority", "direct"]`. The
    /// rows stand under the same provider, scope and model.
    pub draws_on: Vec<String>,
    /// Its price over that of `standard`; absent where no source tells, or where it is paid for
    /// beforehand.
    #[serde(default, deserialize_with = "factor", skip_serializing_if = "Option::is_none")]
    pub price_factor: Option<Decimal>,
    /// What else is known of it, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
}
