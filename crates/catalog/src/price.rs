//! What tokens cost on demand.
//!
//! Invariant: decimal throughout, never rounded; a price that is not known makes the cost unknown.

use jiff::civil::Date;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use crate::{
    Call, Tier,
    exact::{factor, usd_per_million},
};

/// List prices from a date on, USD per million tokens.
///
/// A cent is never rounded away: a million calls at 0.0000004 USD are 0.40 USD.
///
/// ```
/// use plimsoll_catalog::{Call, TokenPrice};
/// use rust_decimal::Decimal;
///
/// let price = TokenPrice { input: Some("0.4".parse()?), ..TokenPrice::default() };
/// let one = price.cost(&Call { input_uncached: 1, ..Call::default() });
/// assert_eq!(one, Some("0.0000004".parse()?));
/// let million: Decimal = (0..1_000_000).filter_map(|_| one).sum();
/// assert_eq!(million, "0.40".parse()?);
/// # Ok::<(), rust_decimal::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenPrice {
    /// First day; none: as far back as is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Date>,
    /// First day on which it holds no more; none: until a newer one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Date>,
    /// Tier that it is the price of.
    #[serde(default)]
    pub tier: Tier,
    /// Input that no cache served or kept.
    #[serde(default, deserialize_with = "usd_per_million", skip_serializing_if = "Option::is_none")]
    pub input: Option<Decimal>,
    /// Audio input, cached or not; without it, its cost is unknown.
    #[serde(default, deserialize_with = "usd_per_million", skip_serializing_if = "Option::is_none")]
    pub audio: Option<Decimal>,
    /// Input read from the cache.
    #[serde(default, deserialize_with = "usd_per_million", skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<Decimal>,
    /// Input written to it for five minutes.
    #[serde(default, deserialize_with = "usd_per_million", skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<Decimal>,
    /// Input written to it for an hour.
    #[serde(default, deserialize_with = "usd_per_million", skip_serializing_if = "Option::is_none")]
    pub cache_write_1h: Option<Decimal>,
    /// Output.
    #[serde(default, deserialize_with = "usd_per_million", skip_serializing_if = "Option::is_none")]
    pub output: Option<Decimal>,
    /// Reasoning; absent: as `output`.
    #[serde(default, deserialize_with = "usd_per_million", skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Decimal>,
    /// What the price is multiplied by where inference is held within the United States.
    #[serde(default, deserialize_with = "factor", skip_serializing_if = "Option::is_none")]
    pub us_only: Option<Decimal>,
    /// Other prices above a size of input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub long_context: Option<LongPrice>,
}

/// Prices of calls whose whole input is larger than a threshold, USD per million tokens. A kind that is
/// absent costs what it costs in short ones.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LongPrice {
    /// Input tokens of every kind; a call with more is long.
    pub above: u64,
    /// Input that no cache served or kept.
    #[serde(default, deserialize_with = "usd_per_million", skip_serializing_if = "Option::is_none")]
    pub input: Option<Decimal>,
    /// Input read from the cache.
    #[serde(default, deserialize_with = "usd_per_million", skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<Decimal>,
    /// Input written to it for five minutes.
    #[serde(default, deserialize_with = "usd_per_million", skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<Decimal>,
    /// Input written to it for an hour.
    #[serde(default, deserialize_with = "usd_per_million", skip_serializing_if = "Option::is_none")]
    pub cache_write_1h: Option<Decimal>,
    /// Output.
    #[serde(default, deserialize_with = "usd_per_million", skip_serializing_if = "Option::is_none")]
    pub output: Option<Decimal>,
}

impl TokenPrice {
    /// What `call` costs in USD; none where it used a kind of token whose price is not known. A refused
    /// attempt costs nothing.
    pub fn cost(&self, call: &Call) -> Option<Decimal> {
        if call.is_refused() {
            return Some(Decimal::ZERO);
        }
        let none = LongPrice::default();
        let long = self.long_context.as_ref().filter(|long| call.input() > long.above).unwrap_or(&none);
        let output = long.output.or(self.output);
        let [plain, reasoning, audio, image] = call.output_parts();
        let parts = [
            (call.input_uncached, long.input.or(self.input)),
            (call.audio.checked_add(call.audio_cache_read)?, self.audio),
            (call.cache_read, long.cache_read.or(self.cache_read)),
            (call.cache_write, long.cache_write.or(self.cache_write)),
            (call.cache_write_1h, long.cache_write_1h.or(self.cache_write_1h)),
            (plain, output),
            (reasoning, self.reasoning.or(output)),
            // Audio and images have prices of their own everywhere, and none was found.
            (audio.checked_add(image)?, None),
        ];
        let mut millionths = Decimal::ZERO;
        for (tokens, price) in parts.into_iter().filter(|(tokens, _)| *tokens > 0) {
            millionths = millionths.checked_add(price?.checked_mul(tokens.into())?)?;
        }
        let factor = if call.us_only { self.us_only? } else { Decimal::ONE };
        let usd = millionths.checked_mul(factor)?.checked_mul(Decimal::new(1, 6))?;
        Some(usd.normalize())
    }

    /// Whether it is in force on `day`.
    pub(crate) fn holds(&self, day: Date) -> bool {
        self.from.is_none_or(|from| from <= day) && self.until.is_none_or(|until| day < until)
    }

    /// Whether both would answer for one day with equal right, or one was to end after the next began.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        let (first, second) = if self.from <= other.from { (self, other) } else { (other, self) };
        self.tier == other.tier
            && (first.from == second.from || first.until.is_some_and(|until| second.from < Some(until)))
    }

    /// What is wrong with it, if anything.
    pub(crate) fn fault(&self) -> Option<String> {
        if self.until.is_some() && self.until <= self.from {
            return Some("`until` is not after `from`".to_owned());
        }
        let dearer = |read: Option<Decimal>, input: Option<Decimal>| {
            read.zip(input).is_some_and(|(read, input)| read > input)
        };
        if dearer(self.cache_read, self.input) {
            return Some("a read from the cache costs more than plain input; are they swapped?".to_owned());
        }
        if dearer(self.input, self.output) {
            return Some("input costs more than output; are they swapped?".to_owned());
        }
        self.long_context
            .as_ref()
            .is_some_and(|long| long.above == 0)
            .then(|| "`long_context.above` is 1 or more".to_owned())
    }
}
