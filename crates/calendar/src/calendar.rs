//! A holiday set in a time zone: what is a business day, and where a local day begins.
//!
//! Leaves recurring events to [`crate::Rule`]. Invariants: a day outside the set's valid years is an
//! error, never open or closed; local dates become instants in one place, [`Calendar::instant`].

use std::collections::BTreeMap;

use jiff::{
    SignedDuration, Timestamp, ToSpan,
    civil::{Date, DateTime},
    tz::{TimeZone, TimeZoneDatabase},
};

use crate::{CalendarError, Feed, HolidaySet, Period, SetSource};

/// Business days of one named holiday set, in one time zone.
#[derive(Debug, Clone)]
pub struct Calendar {
    set: HolidaySet,
    zone: TimeZone,
    feeds: BTreeMap<String, Feed>,
}

impl Calendar {
    /// A set in a zone.
    pub fn new(set: HolidaySet, zone: TimeZone) -> Self {
        Self { set, zone, feeds: BTreeMap::new() }
    }

    /// The set called `name` among `files` (name and text; of two sets with one name the later
    /// counts, so a user's folder comes last), in the IANA zone `zone`. Zone rules come from the
    /// database that is built in, so that the host does not change an answer.
    ///
    /// # Errors
    /// A file that cannot be read, a name that no file has, a zone that does not exist.
    pub fn named<N: AsRef<str>, T: AsRef<str>>(
        files: impl IntoIterator<Item = (N, T)>,
        name: &str,
        zone: &str,
    ) -> Result<Self, CalendarError> {
        let set = HolidaySet::named(files, name)?;
        Self::new(set, TimeZone::UTC).in_zone(zone)
    }

    /// The same calendar in the IANA zone `zone`, by the database that is built in.
    ///
    /// # Errors
    /// A zone that does not exist.
    pub fn in_zone(mut self, zone: &str) -> Result<Self, CalendarError> {
        self.zone = TimeZoneDatabase::bundled()
            .get(zone)
            .map_err(|_| CalendarError::NoSuchZone { zone: zone.to_owned() })?;
        Ok(self)
    }

    /// The same calendar with a calendar file, which rules name as `path`.
    #[must_use]
    pub fn with_feed(mut self, path: &str, feed: Feed) -> Self {
        self.feeds.insert(path.to_owned(), feed);
        self
    }

    /// The calendar file that rules name as `path`.
    pub(crate) fn feed(&self, path: &str) -> Option<&Feed> {
        self.feeds.get(path)
    }

    /// Name of the holiday set.
    pub fn name(&self) -> &str {
        &self.set.name
    }

    /// What the set is, in words.
    pub fn title(&self) -> &str {
        &self.set.title
    }

    /// Where the set was read, and when.
    pub fn source(&self) -> &SetSource {
        &self.set.source
    }

    /// First and last day that the set is known for.
    pub fn valid(&self) -> (Date, Date) {
        (self.set.valid_from, self.set.valid_through)
    }

    /// The time zone.
    pub fn zone(&self) -> &TimeZone {
        &self.zone
    }

    /// IANA name of the time zone.
    pub fn zone_name(&self) -> &str {
        self.zone.iana_name().unwrap_or("UTC")
    }

    /// Days off that are no plain weekend, by date, within `from..=through`.
    pub fn holidays(&self, from: Date, through: Date) -> impl Iterator<Item = (Date, &str)> {
        let days = (from <= through).then(|| self.set.days_off.range(from..=through));
        days.into_iter().flatten().map(|(day, name)| (*day, name.as_str()))
    }

    /// Whether business is done on `date`.
    ///
    /// # Errors
    /// [`CalendarError::Unknown`] outside [`Calendar::valid`].
    pub fn is_business_day(&self, date: Date) -> Result<bool, CalendarError> {
        let set = &self.set;
        if !(set.valid_from..=set.valid_through).contains(&date) {
            return Err(CalendarError::Unknown {
                calendar: set.name.clone(),
                date,
                from: set.valid_from,
                through: set.valid_through,
            });
        }
        let weekend = set.weekend.contains(&date.weekday().to_monday_one_offset());
        let open = !weekend && !set.days_off.contains_key(&date);
        Ok(open || set.worked.contains_key(&date))
    }

    /// Single weekend days on which business is done, by date, within `from..=through`.
    pub fn worked_weekends(&self, from: Date, through: Date) -> impl Iterator<Item = (Date, &str)> {
        let days = (from <= through).then(|| self.set.worked.range(from..=through));
        days.into_iter().flatten().map(|(day, name)| (*day, name.as_str()))
    }

    /// Business days within `from..=through`, in order.
    ///
    /// # Errors
    /// [`CalendarError::Unknown`] where any day is outside [`Calendar::valid`].
    pub fn business_days(&self, from: Date, through: Date) -> Result<Vec<Date>, CalendarError> {
        let mut days = Vec::new();
        for day in from.series(1.day()).take_while(|day| *day <= through) {
            if self.is_business_day(day)? {
                days.push(day);
            }
        }
        Ok(days)
    }

    /// The `n`th business day after `date` (before it where `n` is negative); `date` itself where
    /// `n` is 0. `date` need not be a business day, and is never counted.
    ///
    /// # Errors
    /// [`CalendarError::Unknown`] where the way leads outside [`Calendar::valid`].
    pub fn add_business_days(&self, date: Date, n: i32) -> Result<Date, CalendarError> {
        let (mut day, mut left) = (date, n);
        while left != 0 {
            day = if n > 0 { day.tomorrow()? } else { day.yesterday()? };
            if self.is_business_day(day)? {
                left -= n.signum();
            }
        }
        Ok(day)
    }

    /// Business days after `from`, up to and with `through`: the `n` that
    /// [`Calendar::add_business_days`] needs from one to the other. Negative where `through` is
    /// earlier.
    ///
    /// # Errors
    /// [`CalendarError::Unknown`] where any day between is outside [`Calendar::valid`].
    pub fn business_days_between(&self, from: Date, through: Date) -> Result<i32, CalendarError> {
        let (sign, days) = if from <= through {
            (1, self.business_days(from.tomorrow()?, through)?)
        } else {
            (-1, self.business_days(through, from.yesterday()?)?)
        };
        Ok(sign * i32::try_from(days.len()).unwrap_or(i32::MAX))
    }

    /// The `nth` business day of the period that `date` lies in: 1 is the first (`WD+1`), -1 the
    /// last (`WD-1`). There is no 0.
    ///
    /// # Errors
    /// [`CalendarError::NoSuchDay`] for 0 and beyond the period, [`CalendarError::Unknown`] outside
    /// [`Calendar::valid`].
    pub fn nth_business_day(&self, date: Date, period: Period, nth: i32) -> Result<Date, CalendarError> {
        let (first, last) = period.bounds(date);
        let days = self.business_days(first, last)?;
        let back = usize::try_from(nth.unsigned_abs()).unwrap_or(usize::MAX);
        let index = if nth > 0 { back.checked_sub(1) } else { days.len().checked_sub(back) };
        index.and_then(|index| days.get(index)).copied().ok_or(CalendarError::NoSuchDay { nth, period, date })
    }

    /// First business day of the period that `date` lies in.
    ///
    /// # Errors
    /// As [`Calendar::nth_business_day`].
    pub fn first_business_day(&self, date: Date, period: Period) -> Result<Date, CalendarError> {
        self.nth_business_day(date, period, 1)
    }

    /// Last business day of the period that `date` lies in.
    ///
    /// # Errors
    /// As [`Calendar::nth_business_day`].
    pub fn last_business_day(&self, date: Date, period: Period) -> Result<Date, CalendarError> {
        self.nth_business_day(date, period, -1)
    }

    /// The local date of an instant.
    pub fn local_date(&self, instant: Timestamp) -> Date {
        self.zone.to_datetime(instant).date()
    }

    /// The instant of a local time. A time that daylight saving time skips is read with the offset
    /// before the gap, so it lands after it; a time that occurs twice is its first occurrence.
    ///
    /// # Errors
    /// [`CalendarError::Range`] at the ends of time.
    pub fn instant(&self, local: DateTime) -> Result<Timestamp, CalendarError> {
        Ok(self.zone.to_timestamp(local)?)
    }

    /// The instant at which a local day begins.
    ///
    /// # Errors
    /// [`CalendarError::Range`] at the ends of time.
    pub fn start_of_day(&self, date: Date) -> Result<Timestamp, CalendarError> {
        Ok(date.to_zoned_datetime(self.zone.clone())?.timestamp())
    }

    /// How long a local day is: 23, 24 or 25 hours where clocks are changed by one.
    ///
    /// # Errors
    /// [`CalendarError::Range`] at the ends of time.
    pub fn day_length(&self, date: Date) -> Result<SignedDuration, CalendarError> {
        let (start, end) = (self.start_of_day(date)?, self.start_of_day(date.tomorrow()?)?);
        Ok(start.duration_until(end))
    }
}
