//! A calendar file as a holiday set: its all-day events are days off.
//!
//! Invariant: the set is known for the years that the file has events in, no longer.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{
    Timestamp, ToSpan,
    civil::{Date, date},
    tz::TimeZone,
};

use super::{Feed, Series};
use crate::{Calendar, CalendarError, HolidaySet, SetSource};

/// How long a day off that repeats without an end is taken for known where nothing else says: ten
/// years.
const ENDLESS_YEARS: i16 = 10;

impl HolidaySet {
    /// Reads the bytes of an iCalendar file whose all-day events are days off; weekends are Saturday and
    /// Sunday. It is known from the first through the last year that has an event.
    ///
    /// Such feeds mix observances with days off and say nothing that tells them apart, so that the list
    /// wants a look.
    ///
    /// # Errors
    /// As [`Feed::read`]; and a file without an all-day event.
    pub fn read_ics(file: &str, bytes: &[u8]) -> Result<Self, CalendarError> {
        let feed = Feed::read(file, bytes)?;
        let mut set = Self {
            name: feed.name().to_owned(),
            title: format!("days off of {file}"),
            source: SetSource { title: file.to_owned(), url: None, read_on: None },
            zone: None,
            valid_from: date(1, 1, 1),
            valid_through: date(1, 1, 1),
            weekend: BTreeSet::from([6, 7]),
            days_off: BTreeMap::new(),
            worked: BTreeMap::new(),
        };
        // Whole days are the same in every zone.
        let anywhere = Calendar::new(set.clone(), TimeZone::UTC);
        let days = |series: &&Series| series.is_all_day();
        let starts = feed.series().iter().filter(days).map(|series| series.event.start.local.year());
        let Some((first, latest_start)) = starts.clone().min().zip(starts.max()) else {
            let message = "holds no all-day event, and so no day off";
            return Err(plimsoll_toml::Fault::new(file, message).into());
        };
        let instant = |year: i16| anywhere.start_of_day(Date::new(year.clamp(1, 9998), 1, 1)?);
        let mut last = None;
        for series in feed.series().iter().filter(days).filter(|series| !series.is_endless()) {
            let windows = series.occurrences(&anywhere, instant(first)?, instant(9000)?)?;
            last = last.max(windows.last().map(|window| last_day(window.end).year()));
        }
        let last = last.unwrap_or(latest_start.saturating_add(ENDLESS_YEARS));
        for series in feed.series().iter().filter(days) {
            for window in series.occurrences(&anywhere, instant(first)?, instant(last.saturating_add(1))?)? {
                let begins = TimeZone::UTC.to_datetime(window.start).date();
                let through = last_day(window.end);
                for day in begins.series(1.day()).take_while(|day| *day <= through) {
                    set.days_off.entry(day).or_insert_with(|| series.summary().to_owned());
                }
            }
        }
        set.valid_from = Date::new(first, 1, 1)?;
        set.valid_through = Date::new(last, 12, 31)?;
        Ok(set)
    }
}

fn last_day(end: Timestamp) -> Date {
    TimeZone::UTC.to_datetime(end).date().yesterday().unwrap_or(Date::MIN)
}
