//! Instants as days and clock times of the plan's business calendar.
//!
//! Everything inside a plan is UTC; a reader thinks in the calendar's own time zone, where a day may
//! have 23 or 25 hours. All conversion for documents happens here.

use jiff::{Timestamp, civil::Date, tz::TimeZone};

use crate::{format, render::ReportError};

/// The calendar's time zone.
#[derive(Debug, Clone)]
pub(crate) struct Local {
    zone: TimeZone,
    name: String,
}

impl Local {
    /// The zone of that IANA name.
    ///
    /// # Errors
    /// [`ReportError::TimeZone`] where the time zone database does not know it.
    pub(crate) fn new(name: &str) -> Result<Self, ReportError> {
        let zone = TimeZone::get(name).map_err(|_| ReportError::TimeZone(name.to_owned()))?;
        Ok(Self { zone, name: name.to_owned() })
    }

    /// Local day of an instant.
    pub(crate) fn day(&self, at: Timestamp) -> Date {
        at.to_zoned_datetime(self.zone.clone()).date()
    }

    /// Local day of the last instant before `end`: what an exclusive end belongs to.
    pub(crate) fn last_day(&self, end: Timestamp) -> Date {
        let last = Timestamp::from_second(end.as_second().saturating_sub(1)).unwrap_or(end);
        self.day(last)
    }

    /// Local weekday (Monday is 0) and hour of an instant.
    pub(crate) fn hour_of_week(&self, at: Timestamp) -> (usize, usize) {
        let local = at.to_zoned_datetime(self.zone.clone());
        (
            usize::from(local.weekday().to_monday_zero_offset().unsigned_abs()),
            usize::from(local.hour().unsigned_abs()),
        )
    }

    /// `09:00`.
    pub(crate) fn clock(&self, at: Timestamp) -> String {
        let local = at.to_zoned_datetime(self.zone.clone());
        format!("{:02}:{:02}", local.hour(), local.minute())
    }

    /// `30 Nov 2026 09:00`.
    pub(crate) fn moment(&self, at: Timestamp) -> String {
        format!("{} {}", format::day_year(self.day(at)), self.clock(at))
    }

    /// The zone's city: `New York` for `America/New_York`, `UTC` for `UTC`.
    pub(crate) fn city(&self) -> String {
        self.name.rsplit('/').next().unwrap_or(&self.name).replace('_', " ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Protects local days: an evening in New York is the next day in UTC, and an exclusive end at
    /// midnight belongs to the day before.
    #[test]
    fn days_are_local() -> Result<(), Box<dyn std::error::Error>> {
        let local = Local::new("America/New_York")?;
        let at: Timestamp = "2026-11-01T03:30:00Z".parse()?;
        assert_eq!(local.day(at), "2026-10-31".parse()?);
        assert_eq!(local.clock(at), "23:30");
        assert_eq!(local.hour_of_week(at), (5, 23));
        let midnight: Timestamp = "2026-11-01T04:00:00Z".parse()?;
        assert_eq!(local.last_day(midnight), "2026-10-31".parse()?);
        assert_eq!(local.city(), "New York");
        assert!(Local::new("America/Nowhere").is_err());
        Ok(())
    }
}
