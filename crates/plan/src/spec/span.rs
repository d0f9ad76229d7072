//! Lengths of time as people write them: `91d`, `15m`, `2s`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::de::{Deserialize, Deserializer, Error};

/// Units, longest first, in milliseconds.
const UNITS: [(&str, u64); 6] =
    [("w", 604_800_000), ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// A whole number of one unit: `ms`, `s`, `m`, `h`, `d` or `w`. A day is 24 hours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(Duration);

impl Span {
    /// This many days.
    #[must_use]
    pub const fn of_days(days: u32) -> Self {
        Self(Duration::from_secs(days as u64 * 86_400))
    }

    /// This many minutes.
    #[must_use]
    pub const fn of_minutes(minutes: u32) -> Self {
        Self(Duration::from_secs(minutes as u64 * 60))
    }

    /// The length itself.
    #[must_use]
    pub const fn duration(self) -> Duration {
        self.0
    }

    /// Whole days, rounded up.
    #[must_use]
    pub fn days(self) -> u32 {
        u32::try_from(self.0.as_millis().div_ceil(86_400_000)).unwrap_or(u32::MAX)
    }
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || {
            format!(
                "`{text}` is not a length of time: write a whole number and one of ms, s, m, h, d, w, such as 91d"
            )
        };
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at(digits);
        let (_, millis) = UNITS.iter().find(|(name, _)| *name == unit.trim()).ok_or_else(bad)?;
        let number: u64 = number.parse().map_err(|_| bad())?;
        number.checked_mul(*millis).map(|millis| Self(Duration::from_millis(millis))).ok_or_else(bad)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX);
        // Days are told in days, since a lead of 21 days is not known as three weeks.
        let (unit, size) = UNITS[1..]
            .iter()
            .find(|(_, size)| millis > 0 && millis.is_multiple_of(*size))
            .unwrap_or(&("s", 1_000));
        write!(f, "{}{unit}", millis / size)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}
