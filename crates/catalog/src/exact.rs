//! Numbers that people write and that must stay exact: weights, and decimal texts in bounds.
//!
//! Invariant: nothing passes through a float; a figure outside plausible bounds is refused where it
//! is read, so that a price per token typed for a price per million never reaches a plan.

use std::{fmt, ops::RangeInclusive};

use rust_decimal::Decimal;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// How many tokens of quota one token costs, exact to a millionth.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Weight {
    millionths: u64,
}

impl Weight {
    /// Not counted.
    pub const ZERO: Self = Self { millionths: 0 };
    /// Counted once.
    pub const ONE: Self = Self { millionths: 1_000_000 };

    /// Whether it is not counted.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
    pub(crate) fn is_zero(&self) -> bool {
        self.millionths == 0
    }

    /// The weight in millionths.
    pub fn millionths(self) -> u64 {
        self.millionths
    }
}

impl fmt::Display for Weight {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", Decimal::from_i128_with_scale(self.millionths.into(), 6).normalize())
    }
}

impl Serialize for Weight {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Weight {
    /// 0, or 0.01 to 200: the heaviest known is 120 quota tokens for a token of an output image.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = decimal(deserializer)?;
        if !value.is_zero() {
            let bounds = Decimal::new(1, 2)..=Decimal::from(200);
            within(value, bounds, "tokens of quota per token").map_err(de::Error::custom)?;
        }
        let millionths = (value * Decimal::from(1_000_000)).try_into().map_err(de::Error::custom)?;
        Ok(Self { millionths })
    }
}

/// A price per million tokens in USD: 0, or 0.001 to 1,000.
pub(crate) fn usd_per_million<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Decimal>, D::Error> {
    let value = decimal(deserializer)?;
    if !value.is_zero() {
        let bounds = Decimal::new(1, 3)..=Decimal::from(1000);
        within(value, bounds, "USD per million tokens; is it typed per token?").map_err(de::Error::custom)?;
    }
    Ok(Some(value))
}

/// A price over another price: 0.1 to 10, the dearest known tier costing six times the standard one.
pub(crate) fn factor<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Decimal>, D::Error> {
    let value = decimal(deserializer)?;
    let bounds = Decimal::new(1, 1)..=Decimal::from(10);
    within(value, bounds, "times the standard price").map_err(de::Error::custom)?;
    Ok(Some(value))
}

/// A price of a unit for a whole term in USD. Its hourly rate is checked where the term is known.
pub(crate) fn usd<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Decimal, D::Error> {
    decimal(deserializer)
}

/// Refuses a figure outside `bounds`.
pub(crate) fn within(value: Decimal, bounds: RangeInclusive<Decimal>, unit: &str) -> Result<(), String> {
    if bounds.contains(&value) {
        return Ok(());
    }
    let (low, high) = bounds.into_inner();
    Err(format!("{value} is not plausible: expected {low} to {high} {unit}"))
}

/// A decimal of at most six places, from text or a whole number.
fn decimal<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Decimal, D::Error> {
    struct Exact;

    impl de::Visitor<'_> for Exact {
        type Value = Decimal;

        fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            out.write_str("a decimal in quotes, such as \"0.1\", so that it stays exact")
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<Decimal, E> {
            let value = Decimal::from_str_exact(text)
                .map_err(|_| E::custom(format!("`{text}` is no decimal number")))?;
            if value.is_sign_negative() && !value.is_zero() {
                return Err(E::custom(format!("{value} is negative")));
            }
            if value.normalize().scale() > 6 {
                return Err(E::custom(format!("{value} has more than six decimal places")));
            }
            Ok(value.normalize())
        }

        fn visit_i64<E: de::Error>(self, value: i64) -> Result<Decimal, E> {
            self.visit_str(&value.to_string())
        }
    }

    deserializer.deserialize_any(Exact)
}
