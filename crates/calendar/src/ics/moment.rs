//! Dates and times of a calendar file, and the place where they hold.
//!
//! Invariant: what is no date of the calendar (30 February) is refused.

use jiff::{
    Timestamp,
    civil::{Date, DateTime, Time},
    tz::TimeZone,
};
use plimsoll_toml::Fault;

use super::{
    content::{Property, at},
    zones::Zones,
};
use crate::{Calendar, CalendarError};

/// A value as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Written {
    /// `20260610`
    Date(Date),
    /// `20260610T090000`
    Local(DateTime),
    /// `20260610T090000Z`
    Instant(Timestamp),
}

/// Reads a `DATE` or `DATE-TIME`.
pub(crate) fn read_written(text: &str) -> Result<Written, String> {
    let text = text.trim();
    let wrong =
        || format!("`{text}` is no date or time; write 20260610, 20260610T090000 or 20260610T090000Z");
    let (day, time) = match text.split_once(['T', 't']) {
        Some((day, time)) => (day, Some(time)),
        None => (text, None),
    };
    let digits = |text: &str, length| {
        (text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit()))
            .then_some(())
            .ok_or_else(wrong)
    };
    digits(day, 8)?;
    let number = |text: &str, from: usize, to: usize| {
        text.get(from..to).and_then(|part| part.parse::<i16>().ok()).unwrap_or(-1)
    };
    let small = |value: i16| i8::try_from(value).unwrap_or(-1);
    let date = Date::new(number(day, 0, 4), small(number(day, 4, 6)), small(number(day, 6, 8)))
        .map_err(|_| format!("`{text}` is no day of the calendar: it never happens"))?;
    let Some(time) = time else { return Ok(Written::Date(date)) };
    let (time, utc) = match time.strip_suffix(['Z', 'z']) {
        Some(time) => (time, true),
        None => (time, false),
    };
    digits(time, 6)?;
    let part = |from| small(number(time, from, from + 2));
    // A leap second is the end of its minute.
    let time = Time::new(part(0), part(2), part(4).min(59), 0)
        .map_err(|_| format!("`{text}` is no time of day; hours end at 23, minutes at 59"))?;
    let local = date.to_datetime(time);
    match utc {
        false => Ok(Written::Local(local)),
        true => TimeZone::UTC.to_timestamp(local).map(Written::Instant).map_err(|_| wrong()),
    }
}

/// Where a local time holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// A day of the calendar that reads the file.
    Day,
    /// A time without a zone: local to whoever reads it, here the calendar.
    Floating,
    /// A zone that the file names, or UTC.
    Zone(TimeZone),
}

/// A local time and where it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Moment {
    pub(crate) local: DateTime,
    pub(crate) place: Place,
}

impl Moment {
    /// Reads one value of a property.
    pub(crate) fn read(file: &str, property: &Property, value: &str, zones: &Zones) -> Result<Self, Fault> {
        let written =
            read_written(value).map_err(|why| at(file, property.line, why).field(property.name.clone()))?;
        Ok(match written {
            Written::Date(date) => Self { local: date.to_datetime(Time::midnight()), place: Place::Day },
            Written::Instant(instant) => {
                Self { local: TimeZone::UTC.to_datetime(instant), place: Place::Zone(TimeZone::UTC) }
            }
            Written::Local(local) => match property.parameter("TZID") {
                // A whole day that is written with a time of midnight is still told by its parameter.
                _ if property.parameter("VALUE") == Some("DATE") => Self { local, place: Place::Day },
                None => Self { local, place: Place::Floating },
                Some(id) => {
                    let zone = zones
                        .find(id)
                        .map_err(|why| at(file, property.line, why).field(property.name.clone()))?;
                    Self { local, place: Place::Zone(zone) }
                }
            },
        })
    }

    /// The zone in which its local time is meant.
    pub(crate) fn zone<'a>(&'a self, calendar: &'a Calendar) -> &'a TimeZone {
        match &self.place {
            Place::Zone(zone) => zone,
            Place::Day | Place::Floating => calendar.zone(),
        }
    }

    /// The instant; a written time that daylight saving time skips is read with the offset before the
    /// gap (RFC 5545, 3.3.5).
    pub(crate) fn instant(&self, calendar: &Calendar) -> Result<Timestamp, CalendarError> {
        Ok(self.zone(calendar).to_timestamp(self.local)?)
    }

    /// The day that is meant where days are compared: the written one, but for an instant that is no
    /// midnight of UTC, whose day is the calendar's.
    pub(crate) fn day(&self, calendar: &Calendar) -> Date {
        match &self.place {
            Place::Zone(zone) if *zone == TimeZone::UTC && self.local.time() != Time::midnight() => {
                TimeZone::UTC.to_timestamp(self.local).map_or(self.local.date(), |at| calendar.local_date(at))
            }
            _ => self.local.date(),
        }
    }
}
