//! What tokens cost on demand.
//!
//! Invariant: decimal throughout, never rounded; a price that is not known makes the cost unknown.

use jiff::civil::Date;
use rust_decimal::Decimal;
use serde::Deserialize;

use crate::{Call, exact::usd_per_million};

/// List prices from a date on, USD per million tokens.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenPrice {
    /// First day; none: as far back as is known.
    pub from: Option<Date>,
    /// Input that no cache served or kept.
    #[serde(default, deserialize_with = "usd_per_million")]
    pub input: Option<Decimal>,
    /// Input read from the cache.
    #[serde(default, deserialize_with = "usd_per_million")]
    pub cache_read: Option<Decimal>,
    /// Input written to it for five minutes.
    #[serde(default, deserialize_with = "usd_per_million")]
    pub cache_write: Option<Decimal>,
    /// Input written to it for an hour.
    #[serde(default, deserialize_with = "usd_per_million")]
    pub cache_write_1h: Option<Decimal>,
    /// Output, reasoning included.
    #[serde(default, deserialize_with = "usd_per_million")]
    pub output: Option<Decimal>,
}

impl TokenPrice {
    /// What `call` costs in USD; none where it used a kind of token whose price is not known. A
    /// refused attempt (429) costs nothing.
    pub fn cost(&self, call: &Call) -> Option<Decimal> {
        if call.status == Some(429) {
            return Some(Decimal::ZERO);
        }
        let parts = [
            (call.input_uncached, self.input),
            (call.cache_read, self.cache_read),
            (call.cache_write, self.cache_write),
            (call.cache_write_1h, self.cache_write_1h),
            (call.output, self.output),
        ];
        let mut millionths = Decimal::ZERO;
        for (tokens, price) in parts.into_iter().filter(|(tokens, _)| *tokens > 0) {
            millionths = millionths.checked_add(price?.checked_mul(tokens.into())?)?;
        }
        millionths.checked_mul(Decimal::new(1, 6)).map(|usd| usd.normalize())
    }
}
