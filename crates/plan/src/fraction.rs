//! Fractions of unlimited size, in machine words for as long as they fit.
//!
//! A plan of hundreds of pools adds and multiplies some ten million fractions, nearly all of which fit into two
//! words; big numbers are kept for the rest. Leaves reading and printing to `quantity`. The invariants: a
//! fraction is in lowest terms with a positive denominator, and is in words if and only if both parts fit,
//! so that equal fractions are equal.

use std::cmp::Ordering;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{ToPrimitive, Zero};

/// An exact fraction.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Fraction {
    /// Numerator and denominator.
    Words(i64, i64),
    Big(Box<BigRational>),
}

impl Default for Fraction {
    fn default() -> Self {
        Self::Words(0, 1)
    }
}

impl Fraction {
    /// `numerator / denominator`, the latter not zero.
    pub(crate) fn new(numerator: BigInt, denominator: BigInt) -> Self {
        match (numerator.to_i64(), denominator.to_i64()) {
            (Some(numerator), Some(denominator)) => Self::lowest(numerator, denominator),
            _ => Self::from_big(BigRational::new(numerator, denominator)),
        }
    }

    pub(crate) fn whole(value: u64) -> Self {
        Self::of_words(value.into(), 1)
    }

    fn from_big(value: BigRational) -> Self {
        match (value.numer().to_i64(), value.denom().to_i64()) {
            (Some(numerator), Some(denominator)) => Self::Words(numerator, denominator),
            _ => Self::Big(Box::new(value)),
        }
    }

    /// In lowest terms; the denominator is not zero.
    fn lowest(numerator: i64, denominator: i64) -> Self {
        let divisor = i128::from(common(numerator, denominator)) * i128::from(denominator.signum());
        Self::of_words(i128::from(numerator) / divisor, i128::from(denominator) / divisor)
    }

    /// Of parts that are in lowest terms.
    fn of_words(numerator: i128, denominator: i128) -> Self {
        match (i64::try_from(numerator), i64::try_from(denominator)) {
            (Ok(numerator), Ok(denominator)) => Self::Words(numerator, denominator),
            _ => Self::Big(Box::new(BigRational::new_raw(numerator.into(), denominator.into()))),
        }
    }

    pub(crate) fn big(&self) -> BigRational {
        match self {
            Self::Words(numerator, denominator) => {
                BigRational::new_raw((*numerator).into(), (*denominator).into())
            }
            Self::Big(value) => (**value).clone(),
        }
    }

    pub(crate) fn is_zero(&self) -> bool {
        matches!(self, Self::Words(0, _))
    }

    pub(crate) fn is_integer(&self) -> bool {
        match self {
            Self::Words(_, denominator) => *denominator == 1,
            Self::Big(value) => value.is_integer(),
        }
    }

    pub(crate) fn floor(&self) -> BigInt {
        match self {
            Self::Words(numerator, denominator) => numerator.div_euclid(*denominator).into(),
            Self::Big(value) => value.floor().to_integer(),
        }
    }

    pub(crate) fn ceil(&self) -> BigInt {
        match self {
            Self::Words(..) if self.is_integer() => self.floor(),
            Self::Words(..) => self.floor() + 1,
            Self::Big(value) => value.ceil().to_integer(),
        }
    }

    /// The nearest float.
    pub(crate) fn to_f64(&self) -> Option<f64> {
        /// Whole numbers up to here are floats, and their quotient is rounded once.
        const EXACT: u64 = 1 << 53;
        match self {
            Self::Words(numerator, denominator)
                if numerator.unsigned_abs() <= EXACT && denominator.unsigned_abs() <= EXACT =>
            {
                Some(*numerator as f64 / *denominator as f64)
            }
            _ => self.big().to_f64(),
        }
    }

    pub(crate) fn add(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Words(a, b), Self::Words(c, d)) => sum((*a, *b), (*c, *d)),
            _ => None,
        }
        .unwrap_or_else(|| Self::from_big(self.big() + other.big()))
    }

    pub(crate) fn sub(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Words(a, b), Self::Words(c, d)) => c.checked_neg().and_then(|c| sum((*a, *b), (c, *d))),
            _ => None,
        }
        .unwrap_or_else(|| Self::from_big(self.big() - other.big()))
    }

    pub(crate) fn mul(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Words(a, b), Self::Words(c, d)) => product((*a, *b), (*c, *d)),
            _ => Self::from_big(self.big() * other.big()),
        }
    }

    /// `self / other`, which is not zero.
    pub(crate) fn div(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Words(a, b), Self::Words(c, d)) if *c > 0 => product((*a, *b), (*d, *c)),
            _ => Self::from_big(self.big() / other.big()),
        }
    }
}

impl Ord for Fraction {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Words(a, b), Self::Words(c, d)) => {
                (i128::from(*a) * i128::from(*d)).cmp(&(i128::from(*c) * i128::from(*b)))
            }
            _ => self.big().cmp(&other.big()),
        }
    }
}

impl PartialOrd for Fraction {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// `a/b + c/d`; none where it does not fit on the way.
fn sum((a, b): (i64, i64), (c, d): (i64, i64)) -> Option<Fraction> {
    let common = i128::from(common(b, d));
    let [a, b, c, d] = [a, b, c, d].map(i128::from);
    let numerator = (a * (d / common)).checked_add(c * (b / common))?;
    // What the numerator may share with the denominator lies in what both denominators shared.
    let shared = gcd(numerator.unsigned_abs(), common.unsigned_abs()).max(1);
    let shared = i128::try_from(shared).ok()?;
    let denominator = (b / common).checked_mul(d / shared)?;
    Some(Fraction::of_words(numerator / shared, denominator))
}

/// `a/b x c/d`: what cancels is taken out before, so that nothing has to be reduced after.
fn product((a, b): (i64, i64), (c, d): (i64, i64)) -> Fraction {
    let (left, right) = (i128::from(common(a, d)), i128::from(common(c, b)));
    let [a, b, c, d] = [a, b, c, d].map(i128::from);
    Fraction::of_words((a / left) * (c / right), (b / right) * (d / left))
}

/// The greatest common divisor of two words, 1 where both are zero.
fn common(one: i64, other: i64) -> u64 {
    let (mut one, mut other) = (one.unsigned_abs(), other.unsigned_abs());
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one.max(1)
}

fn gcd(one: u128, other: u128) -> u128 {
    let (mut one, mut other) = (one, other);
    while !other.is_zero() {
        if let (Ok(one), Ok(other)) = (i64::try_from(one), i64::try_from(other)) {
            return common(one, other).into();
        }
        (one, other) = (other, one % other);
    }
    one
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn part() -> impl Strategy<Value = i64> {
        prop_oneof![-50i64..50, any::<i64>(), Just(i64::MAX), Just(i64::MIN)]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        /// Protects every figure of a plan: words give what big numbers give, in the same form, up to the
        /// ends of a word.
        #[test]
        fn words_are_as_good_as_big_numbers((a, c) in (part(), part()), (b, d) in (part(), part())) {
            prop_assume!(b != 0 && d != 0);
            let (one, two) = (Fraction::new(a.into(), b.into()), Fraction::new(c.into(), d.into()));
            let (big_one, big_two) = (BigRational::new(a.into(), b.into()), BigRational::new(c.into(), d.into()));
            prop_assert_eq!(&one.big(), &big_one);
            prop_assert_eq!(one.add(&two), Fraction::from_big(&big_one + &big_two));
            prop_assert_eq!(one.sub(&two), Fraction::from_big(&big_one - &big_two));
            prop_assert_eq!(one.mul(&two), Fraction::from_big(&big_one * &big_two));
            if !two.is_zero() {
                prop_assert_eq!(one.div(&two), Fraction::from_big(&big_one / &big_two));
            }
            prop_assert_eq!(one.cmp(&two), big_one.cmp(&big_two));
            prop_assert_eq!((one.floor(), one.ceil()), (big_one.floor().to_integer(), big_one.ceil().to_integer()));
            prop_assert_eq!(one.to_f64(), big_one.to_f64());
            prop_assert_eq!((one.is_zero(), one.is_integer()), (big_one.is_zero(), big_one.is_integer()));
            let whole = a.unsigned_abs();
            prop_assert_eq!(Fraction::whole(whole), Fraction::new(whole.into(), 1.into()));
        }
    }
}
