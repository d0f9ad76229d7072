//! `[[workflow.arrivals]]` and `[workflow.burstiness]`: when runs start.

use jiff::civil::{Date, Time};
use serde::Deserialize;

/// Runs that start within a window of local time. A workflow's windows add up.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arrivals {
    /// Days on which the window is open.
    pub(crate) days: Days,
    /// Local time at which it opens.
    pub(crate) from: Time,
    /// Local time at which it closes; midnight is the end of the day.
    pub(crate) to: Time,
    /// Mean runs a minute.
    pub(crate) runs_per_min: Option<f64>,
    /// Mean runs in flight, where a run takes `run_minutes`.
    pub(crate) in_flight: Option<f64>,
    /// Minutes that a run takes there.
    pub(crate) run_minutes: Option<f64>,
    /// What the other windows' rates are multiplied by while this one is open.
    pub(crate) factor: Option<f64>,
    /// A trigger: so many runs are queued when the window opens and start at `runs_per_min`, or all
    /// at once without it.
    pub(crate) queued: Option<f64>,
}

impl Arrivals {
    /// Mean runs a minute that the window adds.
    pub(crate) fn rate(&self) -> f64 {
        match (self.in_flight, self.run_minutes) {
            (Some(in_flight), Some(minutes)) => in_flight / minutes,
            _ => self.runs_per_min.unwrap_or(0.0),
        }
    }

    /// What is wrong with it, where something is.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        let midnight = Time::midnight();
        if self.to != midnight && self.to <= self.from {
            return Some(
                "a window of `arrivals` must close after it opens; use 00:00 for the end of the day",
            );
        }
        let numbers = [self.runs_per_min, self.in_flight, self.run_minutes, self.factor, self.queued];
        if numbers.iter().flatten().any(|number| !number.is_finite() || *number < 0.0) {
            return Some("rates and counts of `arrivals` must be finite and not negative");
        }
        match (self.runs_per_min, self.in_flight, self.run_minutes, self.factor, self.queued) {
            (Some(_), None, None, None, _)
            | (None, None, None, Some(_), None)
            | (None, None, None, None, Some(_)) => None,
            (None, Some(_), Some(minutes), None, None) if minutes > 0.0 => None,
            _ => Some(
                "a window of `arrivals` needs runs_per_min, in_flight with run_minutes, factor, or queued",
            ),
        }
    }
}

/// Days on which something holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) enum Days {
    /// `every`.
    Every,
    /// `business`.
    Business,
    /// `last business day of month`.
    MonthEnd,
    /// A date.
    On(Date),
}

impl TryFrom<String> for Days {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.as_str() {
            "every" => Ok(Self::Every),
            "business" => Ok(Self::Business),
            "last business day of month" => Ok(Self::MonthEnd),
            other => other.parse().map(Self::On).map_err(|_| {
                format!("`{other}` names no days; use every, business, last business day of month, or a date such as 2026-10-01")
            }),
        }
    }
}

/// How far the counts of starts vary beyond a Poisson process, as it was measured somewhere.
///
/// What is carried over is the variation of the rate, not the index itself: variance over mean grows
/// with traffic, and at a lower rate than the measured one it is nearer to 1.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Burstiness {
    /// Variance over mean of the starts in a second.
    pub(crate) per_second: f64,
    /// Variance over mean of the starts in a minute.
    pub(crate) per_minute: f64,
    /// Runs a minute where that was measured.
    pub(crate) at_runs_per_min: f64,
}
