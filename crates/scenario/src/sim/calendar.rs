//! Local days and hours of the company as instants.
//!
//! Local times go through the tz database, so a day has 23, 24 or 25 hours; of a time that a clock
//! change repeats, the first one counts. It leaves holiday rules to the file, which lists dates.

use jiff::civil::{Date, Time};
use jiff::{Timestamp, ToSpan, tz::TimeZone};

use crate::file::Days;

/// The company's calendar.
#[derive(Debug, Clone)]
pub(super) struct Calendar {
    zone: TimeZone,
    holidays: Vec<Date>,
}

impl Calendar {
    pub(super) fn new(zone: TimeZone, holidays: Vec<Date>) -> Self {
        Self { zone, holidays }
    }

    /// The instant of a local time; `None` outside the years that OTLP can tell, 1970 to 2262.
    pub(super) fn instant(&self, date: Date, time: Time) -> Option<u64> {
        let zoned = self.zone.to_ambiguous_zoned_datetime(date.to_datetime(time)).compatible().ok()?;
        let nanos = i64::try_from(zoned.timestamp().as_nanosecond()).ok()?;
        u64::try_from(nanos).ok()
    }

    /// The local day of an instant.
    pub(super) fn date(&self, at: u64) -> Date {
        Timestamp::from_nanosecond(i128::from(at))
            .map_or(Date::ZERO, |instant| self.zone.to_datetime(instant).date())
    }

    /// Whether something that holds on `days` holds on that day.
    pub(super) fn holds(&self, days: Days, date: Date) -> bool {
        match days {
            Days::Every => true,
            Days::Business => self.is_business(date),
            Days::MonthEnd => self.is_business(date) && self.next_business_month(date) != date.month(),
            Days::On(day) => day == date,
        }
    }

    fn is_business(&self, date: Date) -> bool {
        date.weekday().to_monday_one_offset() <= 5 && !self.holidays.contains(&date)
    }

    /// Month of the next business day after `date`, or of some day at most a fortnight on.
    fn next_business_month(&self, date: Date) -> i8 {
        let mut day = date;
        for _ in 0..14 {
            day = day.saturating_add(1.day());
            if self.is_business(day) {
                break;
            }
        }
        day.month()
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may fail loudly")]

    use jiff::civil::{date, time};
    use jiff::tz::TimeZone;

    use super::Calendar;
    use crate::file::Days;

    fn new_york() -> Calendar {
        let zone = TimeZone::get("America/New_York").unwrap();
        Calendar::new(zone, vec![date(2026, 9, 7), date(2026, 10, 12)])
    }

    /// Protects the closes of the example: 31 August, 30 September, 30 October, and no other day.
    #[test]
    fn month_ends_are_last_business_days() {
        let calendar = new_york();
        let closes: Vec<_> = date(2026, 8, 24)
            .series(jiff::ToSpan::days(1))
            .take(70)
            .filter(|day| calendar.holds(Days::MonthEnd, *day))
            .collect();
        assert_eq!(closes, [date(2026, 8, 31), date(2026, 9, 30), date(2026, 10, 30)]);
    }

    /// Protects the clock change: 1 November 2026 has 25 hours in New York, and 01:00 is the first.
    #[test]
    fn the_day_of_the_clock_change_has_25_hours() {
        let calendar = new_york();
        let midnight = |day| calendar.instant(date(2026, 11, day), time(0, 0, 0, 0)).unwrap();
        assert_eq!(midnight(2) - midnight(1), 25 * 3600 * super::super::SECOND);
        let one = calendar.instant(date(2026, 11, 1), time(1, 0, 0, 0)).unwrap();
        assert_eq!(one - midnight(1), 3600 * super::super::SECOND);
    }

    /// Protects holidays: they are no business days.
    #[test]
    fn holidays_are_no_business_days() {
        let calendar = new_york();
        assert!(!calendar.holds(Days::Business, date(2026, 9, 7)));
        assert!(calendar.holds(Days::Business, date(2026, 9, 8)));
        assert!(!calendar.holds(Days::Business, date(2026, 9, 12)));
    }
}
