//! Recurring events: on which days, at what hours.
//!
//! The grammar is in `grammar`; here a rule becomes windows. Invariants: days are found on local
//! dates alone, hours are attached afterwards in the calendar's zone; windows come in order of start.

use std::fmt;

use jiff::{
    Timestamp, ToSpan,
    civil::{Date, Time},
};

use crate::{Calendar, CalendarError, Occurrence, Period, grammar};

/// A recurring (or single) event of the business calendar. Made from text by [`Rule::parse`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    pub(crate) text: String,
    pub(crate) days: Days,
    /// None: the whole day.
    pub(crate) hours: Option<Hours>,
}

/// The days on which an event takes place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Days {
    /// The first so many business days of each period.
    First { count: u16, period: Period },
    /// The last so many.
    Last { count: u16, period: Period },
    /// One business day of each period, from 1 at its start or -1 at its end; no 0.
    Nth { nth: i16, period: Period },
    /// Every business day.
    Business,
    /// Monday to Friday, holidays too.
    Weekdays,
    /// Every day.
    Daily,
    /// One date or an unbroken run of them; both ends belong to it.
    Dates { first: Date, last: Date },
}

/// Local hours of a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hours {
    pub(crate) start: Time,
    /// None: the end of the day. At or before `start`: on the next day.
    pub(crate) end: Option<Time>,
}

impl Rule {
    /// Reads a rule, for example `last 3 business days of month, 09:00-18:00`. Case and spacing do
    /// not matter. A rule is days, then hours or none:
    ///
    /// | days | on |
    /// |---|---|
    /// | `last business day of month`, `last 3 business days of quarter` | the last, the last three of each |
    /// | `first business day of month`, `first 2 business days of year` | the same from the start |
    /// | `WD-3`, `WD+2`, `WD-1 of quarter` | third last, second business day of each month; last of each quarter |
    /// | `business days`, `weekdays`, `daily` | each business day; Monday to Friday, holidays too; each day |
    /// | `2026-11-03`, `2026-11-01..2026-11-15` | a date; a run of dates, both ends in it |
    ///
    /// | hours | mean |
    /// |---|---|
    /// | none | the whole day; for a run of dates the whole run, in one window |
    /// | `09:00-18:00` | local time, the end not in it; `22:00-02:00` ends on the next day |
    /// | `14:00` | from then to the end of the day |
    ///
    /// # Errors
    /// [`CalendarError::Rule`], which says what is understood.
    pub fn parse(text: &str) -> Result<Self, CalendarError> {
        grammar::parse(text).map_err(|why| CalendarError::Rule { text: text.to_owned(), why })
    }

    /// Windows that overlap `from..to` (half-open), in order of start. A window is given whole even
    /// where it begins before `from` or ends after `to`. Hours that daylight saving time skips on a
    /// day leave no window there.
    ///
    /// # Errors
    /// [`CalendarError::Unknown`] where the rule needs business days outside the calendar's valid
    /// years, [`CalendarError::Range`] at the ends of time.
    pub fn occurrences(
        &self,
        calendar: &Calendar,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<Occurrence>, CalendarError> {
        if from >= to {
            return Ok(Vec::new());
        }
        // A window that began yesterday may reach into `from`.
        let first = calendar.local_date(from).yesterday()?;
        let last = calendar.local_date(to);
        let mut windows = Vec::new();
        for (id, day, through) in self.days(calendar, first, last)? {
            let start = match self.hours {
                Some(hours) => calendar.instant(day.to_datetime(hours.start))?,
                None => calendar.start_of_day(day)?,
            };
            let end = match self.hours.and_then(|hours| hours.end.map(|end| (hours.start, end))) {
                Some((start, end)) if end > start => calendar.instant(through.to_datetime(end))?,
                Some((_, end)) => calendar.instant(through.tomorrow()?.to_datetime(end))?,
                None => calendar.start_of_day(through.tomorrow()?)?,
            };
            if start < end && start < to && end > from {
                windows.push(Occurrence { id, start, end });
            }
        }
        windows.sort_by_key(|window| window.start);
        Ok(windows)
    }

    /// Runs of days (first and last, mostly the same) with their label, that touch `first..=last`.
    fn days(
        &self,
        calendar: &Calendar,
        first: Date,
        last: Date,
    ) -> Result<Vec<(String, Date, Date)>, CalendarError> {
        let each = |days: Vec<Date>| days.into_iter().map(|day| (day.to_string(), day, day)).collect();
        let series = || first.series(1.day()).take_while(|day| *day <= last);
        Ok(match self.days {
            Days::First { period, .. } | Days::Last { period, .. } | Days::Nth { period, .. } => {
                let mut found = Vec::new();
                let mut start = period.bounds(first).0;
                while start <= last {
                    let end = period.bounds(start).1;
                    let days = calendar.business_days(start, end)?;
                    let label = period.label(start);
                    found.extend(self.days.pick(&days).iter().map(|day| (label.clone(), *day, *day)));
                    start = end.tomorrow()?;
                }
                found
            }
            Days::Business => each(calendar.business_days(first, last)?),
            Days::Weekdays => {
                each(series().filter(|day| day.weekday().to_monday_one_offset() <= 5).collect())
            }
            Days::Daily => each(series().collect()),
            Days::Dates { first: start, last: end } if self.hours.is_none() => {
                vec![(start.to_string(), start, end)]
            }
            Days::Dates { first: start, last: end } => {
                let label = start.to_string();
                let inside = series().filter(|day| (start..=end).contains(day));
                inside.map(|day| (label.clone(), day, day)).collect()
            }
        })
    }
}

impl Days {
    /// Of a period's business days, those that are meant.
    fn pick(self, days: &[Date]) -> &[Date] {
        let n = days.len();
        let (from, to) = match self {
            Self::First { count, .. } => (0, n.min(count.into())),
            Self::Last { count, .. } => (n.saturating_sub(count.into()), n),
            Self::Nth { nth, .. } if nth > 0 => {
                let index = usize::from(nth.unsigned_abs()) - 1;
                (index, index + 1)
            }
            Self::Nth { nth, .. } => match n.checked_sub(nth.unsigned_abs().into()) {
                Some(index) => (index, index + 1),
                None => (0, 0),
            },
            Self::Business | Self::Weekdays | Self::Daily | Self::Dates { .. } => (0, n),
        };
        days.get(from..to).unwrap_or_default()
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}
