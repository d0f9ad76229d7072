//! Instants as request traces write them: text, or numbers in seconds to nanoseconds.
//!
//! Invariant: integer arithmetic throughout; a tenth of a microsecond that was written is kept.

use std::str::FromStr;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// What a numeric timestamp counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds, with up to nine decimals.
    Seconds,
    /// Milliseconds.
    Millis,
    /// Microseconds.
    Micros,
    /// Nanoseconds.
    Nanos,
}

impl TimeUnit {
    /// Nanoseconds in one.
    #[must_use]
    pub fn nanos(self) -> u64 {
        match self {
            Self::Seconds => 1_000_000_000,
            Self::Millis => 1_000_000,
            Self::Micros => 1_000,
            Self::Nanos => 1,
        }
    }

    /// By the size of a time since 1970: from 1973 on each unit's numbers are a thousand times the
    /// next one's. A smaller number counts from some other instant.
    fn of_epoch(value: f64) -> Option<Self> {
        match value {
            v if v >= 1e17 => Some(Self::Nanos),
            v if v >= 1e14 => Some(Self::Micros),
            v if v >= 1e11 => Some(Self::Millis),
            v if v >= 1e8 => Some(Self::Seconds),
            _ => None,
        }
    }
}

impl FromStr for TimeUnit {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "s" => Ok(Self::Seconds),
            "ms" => Ok(Self::Millis),
            "us" => Ok(Self::Micros),
            "ns" => Ok(Self::Nanos),
            _ => Err(format!("no unit of time is called `{name}`: use s, ms, us or ns")),
        }
    }
}

/// Why a text is no instant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    /// Neither a number nor a date with a time.
    #[error("`{0}` is not a time")]
    Unreadable(String),
    /// Outside what nanoseconds since 1970 can tell.
    #[error("`{0}` is before 1970 or past 2554")]
    OutOfRange(String),
    /// A number too small to count from 1970.
    #[error("`{0}` counts from an instant that is not told")]
    Relative(String),
}

/// Nanoseconds since 1970 of an instant; text without an offset is UTC. Where `start` is given,
/// numbers count from there, in milliseconds unless a unit is given.
///
/// # Errors
/// Text that is no instant, or one that cannot be told.
pub fn unix_nanos(text: &str, unit: Option<TimeUnit>, start: Option<Timestamp>) -> Result<u64, TimeError> {
    let text = text.trim();
    if let Ok(value) = text.parse::<f64>() {
        return numeric(text, value, unit, start);
    }
    let instant = text.parse::<Timestamp>().ok().or_else(|| utc(text));
    let instant = instant.ok_or_else(|| TimeError::Unreadable(text.to_owned()))?;
    u64::try_from(instant.as_nanosecond()).map_err(|_| TimeError::OutOfRange(text.to_owned()))
}

fn numeric(
    text: &str,
    value: f64,
    unit: Option<TimeUnit>,
    start: Option<Timestamp>,
) -> Result<u64, TimeError> {
    let out_of_range = || TimeError::OutOfRange(text.to_owned());
    let (unit, start) = match start {
        Some(start) => (
            unit.unwrap_or(TimeUnit::Millis),
            u64::try_from(start.as_nanosecond()).map_err(|_| out_of_range())?,
        ),
        None => {
            let unit = unit.or_else(|| TimeUnit::of_epoch(value));
            (unit.ok_or_else(|| TimeError::Relative(text.to_owned()))?, 0)
        }
    };
    let nanos = scaled(text, unit.nanos()).ok_or_else(out_of_range)?;
    start.checked_add(nanos).ok_or_else(out_of_range)
}

fn utc(text: &str) -> Option<Timestamp> {
    let text = text.strip_suffix("UTC").unwrap_or(text).trim_end();
    let civil: DateTime = text.parse().ok()?;
    TimeZone::UTC.to_timestamp(civil).ok()
}

/// A decimal number times a factor, cut to an integer; `None` where it is negative, not a number, or
/// too large.
#[must_use]
pub fn scaled(text: &str, factor: u64) -> Option<u64> {
    let text = text.trim();
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() + fraction.len() == 0 {
        return None;
    }
    if !digits(whole) || !digits(fraction) {
        // An exponent: exact to 15 digits, which is what its writer had.
        let value = text.parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0)?;
        let product = (value * factor as f64).round();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
        return (product < u64::MAX as f64).then_some(product as u64);
    }
    let mut result = if whole.is_empty() { 0 } else { whole.parse::<u64>().ok()?.checked_mul(factor)? };
    let mut place = factor;
    for digit in fraction.bytes() {
        place /= 10;
        result = result.checked_add(u64::from(digit - b'0') * place)?;
    }
    Some(result)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

    use super::*;

    fn nanos(text: &str) -> u64 {
        unix_nanos(text, None, None).unwrap()
    }

    /// Text with up to nine decimals, with an offset or without, is the instant that it says.
    #[test]
    fn text_is_read_to_the_nanosecond() {
        let azure = 1_700_158_546_680_590_000;
        assert_eq!(nanos("2023-11-16 18:15:46.6805900"), azure);
        assert_eq!(nanos("2023-11-16T18:15:46.68059Z"), azure);
        assert_eq!(nanos("2023-11-16T20:15:46.680590000+02:00"), azure);
        assert_eq!(nanos("2023-11-16 18:15:46.68059 UTC"), azure);
        assert_eq!(nanos("2023-11-16T18:15:46.680590001"), azure + 1);
        assert!(unix_nanos("2023-11-16 18:15:46.6805900001", None, None).is_err());
        assert!(unix_nanos("yesterday", None, None).is_err());
        assert!(unix_nanos("1969-12-31 23:59:59", None, None).is_err());
    }

    /// A number's size tells its unit, and no digit of it is lost to a float.
    #[test]
    fn numbers_are_read_in_their_unit() {
        let instant = 1_700_158_546_680_590_123;
        assert_eq!(nanos("1700158546680590123"), instant);
        assert_eq!(nanos("1700158546680590.123"), instant);
        assert_eq!(nanos("1700158546680.590123"), instant);
        assert_eq!(nanos("1700158546.680590123"), instant);
        assert!(matches!(unix_nanos("27482", None, None), Err(TimeError::Relative(_))));
        let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let base = u64::try_from(start.as_nanosecond()).unwrap();
        assert_eq!(unix_nanos("27482", None, Some(start)), Ok(base + 27_482_000_000));
        assert_eq!(unix_nanos("2.5", Some(TimeUnit::Seconds), Some(start)), Ok(base + 2_500_000_000));
        assert!(unix_nanos("NaN", None, Some(start)).is_err());
        assert!(unix_nanos("-5", None, Some(start)).is_err());
    }
}
