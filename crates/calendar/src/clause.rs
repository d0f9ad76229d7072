//! One rule in words: days, what becomes of days off, from when to when it holds, hours, zone.
//!
//! Invariants: days are found on local dates alone and only then given their hours and their zone;
//! a local time that daylight saving time skips never becomes another hour of that day silently.

use jiff::{
    SignedDuration, Timestamp, ToSpan,
    civil::{Date, DateTime, Time},
    tz::TimeZone,
};

use crate::{Calendar, CalendarError, Occurrence, Roll, days::Days};

/// A recurring (or single) event, told in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Clause {
    pub(crate) days: Days,
    pub(crate) roll: Option<Roll>,
    /// First day on which it may begin.
    pub(crate) since: Option<Date>,
    /// Last day on which it may begin.
    pub(crate) until: Option<Date>,
    /// None: the whole day.
    pub(crate) hours: Option<Hours>,
    /// None: the calendar's zone.
    pub(crate) zone: Option<TimeZone>,
}

/// Local hours of a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hours {
    pub(crate) start: Time,
    /// None: the end of the day. At or before `start`: on the next day.
    pub(crate) end: Option<Time>,
}

/// The longest way that a roll may take, days.
const ROLL_DAYS: i64 = 14;

impl Clause {
    /// Windows that overlap `from..to`, in no particular order.
    pub(crate) fn occurrences(
        &self,
        calendar: &Calendar,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<Occurrence>, CalendarError> {
        let zone = self.zone.as_ref().unwrap_or(calendar.zone());
        let mut windows = Vec::new();
        for (id, start, end) in self.local(calendar, zone, from, to)? {
            let (start_at, end_at) = (zone.to_timestamp(start)?, zone.to_timestamp(end)?);
            // What a rule gives may fall into a gap; what somebody wrote down was meant for some hour.
            if self.hours.is_some() && self.days.is_written() && zone.to_datetime(start_at) != start {
                let zone = zone.iana_name().unwrap_or("this zone").to_owned();
                return Err(CalendarError::Skipped { local: start, zone });
            }
            if start_at < end_at && start_at < to && end_at > from {
                windows.push(Occurrence { id, start: start_at, end: end_at });
            }
        }
        Ok(windows)
    }

    /// Local starts within `from..to` that daylight saving time skips.
    pub(crate) fn skipped(
        &self,
        calendar: &Calendar,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<DateTime>, CalendarError> {
        let zone = self.zone.as_ref().unwrap_or(calendar.zone());
        let mut found = Vec::new();
        for (_, start, _) in self.local(calendar, zone, from, to)? {
            if self.hours.is_some() {
                let at = zone.to_timestamp(start)?;
                if zone.to_datetime(at) != start && (from..to).contains(&at) {
                    found.push(start);
                }
            }
        }
        Ok(found)
    }

    /// Label, local start and local end of each window that may touch `from..to`.
    fn local(
        &self,
        calendar: &Calendar,
        zone: &TimeZone,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<(String, DateTime, DateTime)>, CalendarError> {
        let margin = if self.roll.is_some() { ROLL_DAYS } else { 0 };
        // A window that began yesterday may reach into `from`.
        let first = zone.to_datetime(from).date().yesterday()?.checked_sub(margin.days())?;
        // `to` itself is outside, and at midnight so is its day.
        let last = zone
            .to_datetime(to.checked_sub(SignedDuration::from_nanos(1))?)
            .date()
            .checked_add(margin.days())?;
        let mut found = Vec::new();
        for run in self.days.within(calendar, first, last)? {
            let (start, end) = match self.roll {
                None => (run.first, run.last),
                Some(roll) => (roll.apply(calendar, run.first)?, roll.apply(calendar, run.last)?),
            };
            if self.since.is_some_and(|since| start < since) || self.until.is_some_and(|until| start > until)
            {
                continue;
            }
            match self.hours {
                // Days without hours are one window, however many they are.
                None => found.push((run.id, start.to_datetime(Time::midnight()), next_midnight(end)?)),
                Some(hours) => {
                    let days = start.max(first).series(1.day()).take_while(|day| *day <= end.min(last));
                    for day in days {
                        found.push((run.id.clone(), day.to_datetime(hours.start), hours.end_on(day)?));
                    }
                }
            }
        }
        Ok(found)
    }
}

impl Hours {
    /// Its end, of a day on which it starts.
    pub(crate) fn end_on(self, day: Date) -> Result<DateTime, CalendarError> {
        match self.end {
            Some(end) if end > self.start => Ok(day.to_datetime(end)),
            Some(end) => Ok(day.tomorrow()?.to_datetime(end)),
            None => next_midnight(day),
        }
    }
}

fn next_midnight(day: Date) -> Result<DateTime, CalendarError> {
    Ok(day.tomorrow()?.to_datetime(Time::midnight()))
}
