//! Exact numbers: what people type, and what the planner computes with.
//!
//! A [`Quantity`] is a fraction of unlimited size, read from decimal text, so that 0.35 is 7/20 and
//! not the float beside it. It leaves rounding to whoever prints or asks, who does it once. The
//! invariant: no value passes through a float on its way from the input to a rounded figure.

use std::fmt;
use std::ops::{Add, Mul, Sub};
use std::str::FromStr;

use num_bigint::BigInt;
use num_rational::Ratio;
use num_traits::ToPrimitive;
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};
use thiserror::Error;

use crate::fraction::Fraction;

/// Longest text that is read as a number; longer is a mistake, not a quantity.
const LONGEST: usize = 40;

/// An exact, usually non-negative number.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Quantity(Fraction);

/// Text that is not a number that Plimsoll can use.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum QuantityError {
    /// Not digits with at most one point.
    #[error("`{0}` is not a number: write digits such as 40, 1.2, 35% or 1/3")]
    NotANumber(String),
    /// Below zero.
    #[error("`{0}` is negative: give zero or more")]
    Negative(String),
    /// Too long to be meant.
    #[error("a number of more than {LONGEST} characters: give fewer digits")]
    TooLong,
}

impl Quantity {
    /// Zero.
    #[must_use]
    pub fn zero() -> Self {
        Self(Fraction::default())
    }

    /// One.
    #[must_use]
    pub fn one() -> Self {
        Self(Fraction::Words(1, 1))
    }

    /// `numerator / denominator`; `None` where the denominator is zero.
    pub fn ratio(numerator: impl Into<BigInt>, denominator: impl Into<BigInt>) -> Option<Self> {
        let denominator = denominator.into();
        (denominator != BigInt::ZERO).then(|| Self(Fraction::new(numerator.into(), denominator)))
    }

    /// A percentile of whole numbers. Linear interpolation at P50, P95 and P99 lands on multiples
    /// of 0.01, so the nearest hundredth of the float is the exact value. `None` where it is not
    /// finite.
    #[must_use]
    pub fn of_percentile(value: f64) -> Option<Self> {
        let hundredths = (value * 100.0).round();
        let hundredths = hundredths.is_finite().then(|| hundredths.to_i128()).flatten()?;
        Self::ratio(hundredths, 100)
    }

    /// A statistical estimate, to the nearest millionth: the one place where what a model computed in
    /// floats (a ratio, a growth factor) becomes a figure that units, tokens and dollars are made of.
    /// `None` where it is not finite, or negative.
    #[must_use]
    pub fn of_estimate(value: f64) -> Option<Self> {
        let millionths = (value * 1e6).round();
        let millionths =
            (millionths >= 0.0 && millionths.is_finite()).then(|| millionths.to_i128()).flatten()?;
        Self::ratio(millionths, 1_000_000)
    }

    /// `self / by`; `None` where `by` is zero.
    #[must_use]
    pub fn over(&self, by: &Self) -> Option<Self> {
        (!by.is_zero()).then(|| Self(self.0.div(&by.0)))
    }

    /// Exactly zero.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.0.is_zero()
    }

    /// Rounded up to a whole number; the largest `u64` where it does not fit, zero below zero.
    #[must_use]
    pub fn ceil(&self) -> u64 {
        whole(&self.0.ceil())
    }

    /// Rounded down to a whole number, within the same bounds.
    #[must_use]
    pub fn floor(&self) -> u64 {
        whole(&self.0.floor())
    }

    /// The whole number that it is; none where it has a fraction, is negative or does not fit.
    #[must_use]
    pub fn whole(&self) -> Option<u64> {
        self.0.is_integer().then(|| self.0.floor().to_u64()).flatten()
    }

    /// Whether it is a whole number, however large.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.0.is_integer()
    }

    /// The denominator of its lowest terms.
    #[must_use]
    pub fn denominator(&self) -> Self {
        Self(Fraction::new(self.0.big().denom().clone(), 1.into()))
    }

    /// The same in 128 bits, for the catalog; none where it is negative or does not fit.
    #[must_use]
    pub fn to_ratio(&self) -> Option<Ratio<u128>> {
        if let Fraction::Words(numerator, denominator) = self.0 {
            return Some(Ratio::new_raw(u128::try_from(numerator).ok()?, u128::try_from(denominator).ok()?));
        }
        let big = self.0.big();
        Some(Ratio::new_raw(big.numer().to_u128()?, big.denom().to_u128()?))
    }

    /// The nearest float to the nearest millionth: short enough to read back as it was written.
    pub(crate) fn rounded(&self) -> f64 {
        (self.to_f64() * 1e6).round() / 1e6
    }

    /// The nearest float, for charts and shares.
    #[must_use]
    pub fn to_f64(&self) -> f64 {
        self.0.to_f64().unwrap_or(f64::MAX)
    }
}

fn whole(value: &BigInt) -> u64 {
    if *value < BigInt::ZERO { 0 } else { value.to_u64().unwrap_or(u64::MAX) }
}

impl From<u64> for Quantity {
    fn from(value: u64) -> Self {
        Self(Fraction::whole(value))
    }
}

macro_rules! arithmetic {
    ($($operation:ident $method:ident),*) => {$(
        impl $operation<&Quantity> for &Quantity {
            type Output = Quantity;
            fn $method(self, other: &Quantity) -> Quantity {
                Quantity(self.0.$method(&other.0))
            }
        }
        impl $operation for Quantity {
            type Output = Quantity;
            fn $method(self, other: Quantity) -> Quantity {
                Quantity(self.0.$method(&other.0))
            }
        }
    )*};
}
arithmetic!(Add add, Sub sub, Mul mul);

impl std::iter::Sum for Quantity {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::zero(), |sum, part| sum + part)
    }
}

impl FromStr for Quantity {
    type Err = QuantityError;

    /// Reads `40`, `6_000`, `1.2`, `35%` or `1/3`.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let text = text.trim();
        if text.len() > LONGEST {
            return Err(QuantityError::TooLong);
        }
        if text.starts_with('-') {
            return Err(QuantityError::Negative(text.to_owned()));
        }
        let bad = || QuantityError::NotANumber(text.to_owned());
        if let Some((over, under)) = text.split_once('/') {
            let (over, under) = (decimal(over).ok_or_else(bad)?, decimal(under).ok_or_else(bad)?);
            return over.over(&under).ok_or_else(bad);
        }
        match text.strip_suffix('%') {
            Some(percent) => {
                let hundredth = Fraction::Words(1, 100);
                Ok(Self(decimal(percent).ok_or_else(bad)?.0.mul(&hundredth)))
            }
            None => decimal(text).ok_or_else(bad),
        }
    }
}

/// Digits with at most one point, underscores between digits allowed.
fn decimal(text: &str) -> Option<Quantity> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits: String = [whole, fraction].concat().chars().filter(|c| *c != '_').collect();
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let places = fraction.bytes().filter(u8::is_ascii_digit).count();
    let scale = BigInt::from(10u8).pow(u32::try_from(places).ok()?);
    Some(Quantity(Fraction::new(digits.parse().ok()?, scale)))
}

impl fmt::Display for Quantity {
    /// Digits grouped by threes where it is whole, else up to four decimals.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_integer() {
            return f.write_str(&grouped(&self.0.floor().to_string()));
        }
        let text = format!("{:.4}", self.to_f64());
        let text = text.trim_end_matches('0').trim_end_matches('.');
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let point = if fraction.is_empty() { "" } else { "." };
        write!(f, "{}{point}{fraction}", grouped(whole))
    }
}

/// `1584000` as `1,584,000`.
fn grouped(digits: &str) -> String {
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) && !out.ends_with('-') {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

impl Serialize for Quantity {
    /// A JSON integer where it is whole and fits, else the nearest float.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match (self.0.is_integer(), self.0.floor().to_u64()) {
            (true, Some(whole)) => serializer.serialize_u64(whole),
            _ => serializer.serialize_f64(self.to_f64()),
        }
    }
}

impl<'de> Deserialize<'de> for Quantity {
    /// From an integer, text, or a float's shortest decimal spelling (so `0.35` is 7/20).
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number;
        impl Visitor<'_> for Number {
            type Value = Quantity;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of zero or more")
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Quantity, E> {
                Ok(value.into())
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Quantity, E> {
                value.to_string().parse().map_err(E::custom)
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Quantity, E> {
                value.to_string().parse().map_err(E::custom)
            }
            fn visit_str<E: de::Error>(self, value: &str) -> Result<Quantity, E> {
                value.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Number)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

    use super::*;

    fn quantity(text: &str) -> Quantity {
        text.parse().unwrap()
    }

    /// Protects exactness: decimal text, percentages and fractions are rationals, not floats.
    #[test]
    fn text_is_exact() {
        assert_eq!(quantity("0.35"), Quantity::ratio(7, 20).unwrap());
        assert_eq!(quantity("35%"), quantity("0.35"));
        assert_eq!(quantity("1/3") + quantity("2/3"), Quantity::one());
        assert_eq!(&quantity("6_000") * &quantity("1.2"), 7200.into());
        assert_eq!((quantity("100") * quantity("1.1")).ceil(), 110, "a float gives 111");
    }

    /// Protects the one door from floats: rounded to millionths once, and no nonsense passes.
    #[test]
    fn estimates_are_rounded_once() {
        assert_eq!(Quantity::of_estimate(1.746_400_04), Some(quantity("1.7464")));
        assert_eq!(Quantity::of_estimate(0.0), Some(Quantity::zero()));
        for nonsense in [f64::NAN, f64::INFINITY, -1.0, 1e40] {
            assert_eq!(Quantity::of_estimate(nonsense), None);
        }
    }

    /// Protects users from numbers that were not meant.
    #[test]
    fn odd_text_is_refused() {
        for text in ["", ".", "-1", "1e9", "0x10", "1.2.3", "1/0", "NaN", "inf", "1,000"] {
            assert!(text.parse::<Quantity>().is_err(), "{text}");
        }
        assert_eq!("9".repeat(41).parse::<Quantity>(), Err(QuantityError::TooLong));
    }

    /// Protects what people read: digits in threes, decimals cut where they end.
    #[test]
    fn printed_for_people() {
        let printed = |text: &str| quantity(text).to_string();
        assert_eq!(printed("1584000"), "1,584,000");
        assert_eq!(printed("40/3"), "13.3333");
        assert_eq!(printed("356.4"), "356.4");
        assert_eq!(printed("1234.5"), "1,234.5");
        assert_eq!(printed("100"), "100");
    }
}
