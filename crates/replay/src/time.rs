//! Time inside a replay: whole microseconds since an origin that the caller chooses.
//!
//! Leaves calendars and zones to `calendar`. The invariant: time is an integer, so two events at one
//! instant are at one instant on every machine. Fixed windows begin at multiples of their length from
//! the origin; with the Unix epoch as origin they begin on UTC minutes and days, as providers' do.

use std::ops::{Add, Sub};

use serde::{Deserialize, Serialize};

use crate::limit::Window;

/// An instant, or a length of time, in microseconds. Sums and differences saturate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Micros(pub u64);

impl Micros {
    /// The origin, or no time at all.
    pub const ZERO: Self = Self(0);
    /// After everything.
    pub const MAX: Self = Self(u64::MAX);
    /// One second.
    pub const SECOND: Self = Self(1_000_000);
    /// One minute.
    pub const MINUTE: Self = Self(60 * Self::SECOND.0);
    /// One hour.
    pub const HOUR: Self = Self(60 * Self::MINUTE.0);

    /// So many milliseconds.
    #[must_use]
    pub const fn millis(count: u64) -> Self {
        Self(count.saturating_mul(1_000))
    }

    /// So many seconds.
    #[must_use]
    pub const fn seconds(count: u64) -> Self {
        Self(count.saturating_mul(Self::SECOND.0))
    }

    /// So many minutes.
    #[must_use]
    pub const fn minutes(count: u64) -> Self {
        Self(count.saturating_mul(Self::MINUTE.0))
    }

    /// In milliseconds, for people.
    #[must_use]
    pub fn as_millis(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// In minutes, for rates.
    #[must_use]
    pub fn as_minutes(self) -> f64 {
        self.0 as f64 / Self::MINUTE.0 as f64
    }
}

impl Add for Micros {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Micros {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl From<Window> for Micros {
    fn from(window: Window) -> Self {
        Self::seconds(u64::from(window.0))
    }
}
