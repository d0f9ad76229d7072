//! The days on which a rule in words takes place.
//!
//! It leaves hours and zones to [`crate::Rule`]. Invariants: days are found on local dates alone; a day
//! carries the label of the period that it belongs to.

use jiff::{
    ToSpan,
    civil::{Date, Weekday},
};

use crate::{Calendar, CalendarError, Period, date_rule::DateRule};

/// A run of days (mostly of one) and the label of its occurrence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) id: String,
    pub(crate) first: Date,
    pub(crate) last: Date,
}

/// The days on which an event takes place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Days {
    /// The first so many business days of each period.
    First { count: u16, period: Period },
    /// The last so many.
    Last { count: u16, period: Period },
    /// One business day of each period, from 1 at its start or -1 at its end; no 0.
    Nth { nth: i16, period: Period },
    /// Business days from `from` to `to`, so counted; from a negative to a positive one they lie around
    /// the end of the period whose label they bear.
    Around { from: i16, to: i16, period: Period },
    /// First or last day of each period, business day or not.
    Edge { last: bool, period: Period },
    /// Every business day.
    Business,
    /// Monday to Friday, holidays too.
    Weekdays,
    /// Every day.
    Daily,
    /// These weekdays.
    Weekly(Vec<Weekday>),
    /// Every so many weeks from a date.
    EveryWeeks { weeks: u8, from: Date },
    /// Days of every year.
    Yearly(Vec<DateRule>),
    /// An unbroken run of days every year; both ends belong to it.
    YearlyRun { first: DateRule, last: DateRule },
    /// One date or an unbroken run of them; both ends belong to it.
    Dates { first: Date, last: Date },
}

impl Days {
    /// Runs of days that touch `first..=last`, in order.
    pub(crate) fn within(
        &self,
        calendar: &Calendar,
        first: Date,
        last: Date,
    ) -> Result<Vec<Run>, CalendarError> {
        let day = |id: String, day: Date| Run { id, first: day, last: day };
        let each = |days: Vec<Date>| days.into_iter().map(|date| day(date.to_string(), date)).collect();
        let series = || first.series(1.day()).take_while(|day| *day <= last);
        Ok(match self {
            Self::First { period, .. } | Self::Last { period, .. } | Self::Nth { period, .. } => {
                let mut found = Vec::new();
                for (start, end) in periods(*period, first, last)? {
                    let days = calendar.business_days(start, end)?;
                    let label = period.label(start);
                    found.extend(self.pick(&days).iter().map(|date| day(label.clone(), *date)));
                }
                found
            }
            Self::Around { from, to, period } => around(calendar, *from, *to, *period, first, last)?,
            Self::Edge { last: at_end, period } => periods(*period, first, last)?
                .into_iter()
                .map(|(start, end)| day(period.label(start), if *at_end { end } else { start }))
                .collect(),
            Self::Business => each(calendar.business_days(first, last)?),
            Self::Weekdays => {
                each(series().filter(|day| day.weekday().to_monday_one_offset() <= 5).collect())
            }
            Self::Daily => each(series().collect()),
            Self::Weekly(weekdays) => {
                each(series().filter(|day| weekdays.contains(&day.weekday())).collect())
            }
            Self::EveryWeeks { weeks, from } => {
                let step = i64::from(*weeks) * 7;
                let on = |day: &Date| {
                    *day >= *from && (from.duration_until(*day).as_hours() / 24).rem_euclid(step) == 0
                };
                each(series().filter(on).collect())
            }
            Self::Yearly(rules) => {
                let years = first.year().saturating_sub(1)..=last.year().saturating_add(1);
                let mut days: Vec<Date> =
                    years.flat_map(|year| rules.iter().filter_map(move |rule| rule.in_year(year))).collect();
                days.retain(|day| (first..=last).contains(day));
                days.sort_unstable();
                days.dedup();
                each(days)
            }
            Self::YearlyRun { first: from, last: to } => {
                let years = first.year().saturating_sub(2)..=last.year().saturating_add(1);
                years
                    .filter_map(|year| {
                        let start = from.in_year(year)?;
                        let same_year = to.in_year(year).filter(|end| *end >= start);
                        let end = same_year.or_else(|| to.in_year(year.checked_add(1)?))?;
                        Some(Run { id: start.to_string(), first: start, last: end })
                    })
                    .filter(|run| run.last >= first && run.first <= last)
                    .collect()
            }
            Self::Dates { first, last } => {
                vec![Run { id: first.to_string(), first: *first, last: *last }]
            }
        })
    }

    /// Whether it names single days of one year only, and so an event that somebody wrote down.
    pub(crate) fn is_written(&self) -> bool {
        matches!(self, Self::Dates { .. })
    }

    /// Of a period's business days, those that are meant.
    fn pick<'a>(&self, days: &'a [Date]) -> &'a [Date] {
        let n = days.len();
        let (from, to) = match self {
            Self::First { count, .. } => (0, n.min(usize::from(*count))),
            Self::Last { count, .. } => (n.saturating_sub(usize::from(*count)), n),
            Self::Nth { nth, .. } => match index(*nth, n) {
                Some(index) => (index, index + 1),
                None => (0, 0),
            },
            _ => (0, n),
        };
        days.get(from..to).unwrap_or_default()
    }
}

/// Position of the nth of `n` days, from 1 at the start or -1 at the end.
pub(crate) fn index(nth: i16, n: usize) -> Option<usize> {
    let back = usize::from(nth.unsigned_abs());
    if nth > 0 { back.checked_sub(1) } else { n.checked_sub(back) }
}

/// Periods that touch `first..=last`.
fn periods(period: Period, first: Date, last: Date) -> Result<Vec<(Date, Date)>, CalendarError> {
    let mut found = Vec::new();
    let mut start = period.bounds(first).0;
    while start <= last {
        let end = period.bounds(start).1;
        found.push((start, end));
        start = end.tomorrow()?;
    }
    Ok(found)
}

/// `WD-2..WD+5`: from business day `from` of a period, or of its end, to `to` of it or of the next.
fn around(
    calendar: &Calendar,
    from: i16,
    to: i16,
    period: Period,
    first: Date,
    last: Date,
) -> Result<Vec<Run>, CalendarError> {
    let crosses = from < 0 && to > 0;
    // The tail of the period before may reach into the range.
    let start = if crosses { period.bounds(period.bounds(first).0.yesterday()?).0 } else { first };
    let mut found = Vec::new();
    for (start, end) in periods(period, start, last)? {
        let label = period.label(start);
        let days = calendar.business_days(start, end)?;
        let begin = index(from, days.len());
        if crosses {
            // A period that begins after the range only needs the days that lie in it.
            let tail = begin.and_then(|begin| days.get(begin..)).unwrap_or_default();
            let mut all = tail.to_vec();
            if tail.first().is_some_and(|day| *day <= last) {
                let (next, next_end) = period.bounds(end.tomorrow()?);
                let head = calendar.business_days(next, next_end)?;
                all.extend(head.iter().take(usize::from(to.unsigned_abs())));
            }
            found.extend(all.into_iter().map(|day| (label.clone(), day)));
        } else if let Some((begin, end)) = begin.zip(index(to, days.len())) {
            let days = days.get(begin..=end).unwrap_or_default();
            found.extend(days.iter().map(|day| (label.clone(), *day)));
        }
    }
    let inside = found.into_iter().filter(|(_, day)| (first..=last).contains(day));
    Ok(inside.map(|(id, day)| Run { id, first: day, last: day }).collect())
}
