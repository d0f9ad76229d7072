//! From a recurrence rule to local times.
//!
//! Each interval (a year, a month, a week, a day) is gone through day by day, and a day stays that all
//! BY parts let pass. Invariants: no zone is known here; the work is bounded by the range asked for.

use jiff::{
    ToSpan,
    civil::{Date, DateTime, Time},
};

use super::rule::{Frequency, Recurrence};
use crate::days::index;

impl Recurrence {
    /// Local times of a series that starts at `start`, in order, up to and with `last`. Without a count
    /// those before `from` may be left out. A start that the rule does not meet is no instance.
    pub(crate) fn instances(
        &self,
        start: DateTime,
        from: DateTime,
        last: DateTime,
    ) -> impl Iterator<Item = DateTime> + '_ {
        let skip = if self.count.is_none() { self.intervals_between(start, from) } else { 0 };
        let mut interval = skip;
        let mut ready: Vec<DateTime> = Vec::new();
        std::iter::from_fn(move || {
            let mut barren = 0;
            loop {
                if let Some(next) = ready.pop() {
                    return (next <= last).then_some(next);
                }
                let first = self.interval_start(start.date(), interval)?;
                if first > last.date() || barren > self.patience() {
                    return None;
                }
                interval += 1;
                barren += 1;
                // Last first, so that they can be popped.
                ready = self.interval(start, first);
                ready.retain(|time| *time >= start);
                ready.reverse();
            }
        })
    }

    /// Whether the rule has an instance at all.
    pub(crate) fn happens(&self, start: DateTime) -> bool {
        self.instances(start, start, DateTime::MAX).next().is_some()
    }

    /// Intervals without an instance after which a rule is taken to never happen: the calendar repeats
    /// itself after 400 years; a shorter interval that finds nothing in 40 (29 February on each weekday)
    /// finds nothing.
    fn patience(&self) -> u32 {
        match self.frequency {
            Frequency::Daily => 15_000,
            Frequency::Weekly => 2_100,
            Frequency::Monthly => 1_200,
            Frequency::Yearly => 400,
        }
    }

    /// Intervals that lie wholly before `from`.
    fn intervals_between(&self, start: DateTime, from: DateTime) -> u32 {
        let days = (start.date().duration_until(from.date()).as_hours() / 24).max(0);
        // One fewer than the shortest such interval allows.
        let longest = match self.frequency {
            Frequency::Daily => 1,
            Frequency::Weekly => 7,
            Frequency::Monthly => 31,
            Frequency::Yearly => 366,
        };
        let whole = days / (longest * i64::from(self.interval));
        u32::try_from(whole.saturating_sub(2)).unwrap_or(0)
    }

    /// First day of the nth interval.
    fn interval_start(&self, start: Date, nth: u32) -> Option<Date> {
        let by = i64::from(nth) * i64::from(self.interval);
        match self.frequency {
            Frequency::Daily => start.checked_add(by.days()).ok(),
            Frequency::Weekly => {
                let back = i64::from(start.weekday().since(self.week_start));
                start.checked_sub(back.days()).ok()?.checked_add(by.weeks()).ok()
            }
            Frequency::Monthly => start.first_of_month().checked_add(by.months()).ok(),
            Frequency::Yearly => start.first_of_year().checked_add(by.years()).ok(),
        }
    }

    /// Instances of the interval that begins on `first`, in order.
    fn interval(&self, start: DateTime, first: Date) -> Vec<DateTime> {
        let length = match self.frequency {
            Frequency::Daily => 1,
            Frequency::Weekly => 7,
            Frequency::Monthly => i64::from(first.days_in_month()),
            Frequency::Yearly => i64::from(first.days_in_year()),
        };
        let days = (0..length).filter_map(|day| first.checked_add(day.days()).ok());
        let days = days.filter(|day| self.lets_pass(start.date(), *day));
        let times = self.times(start.time());
        let all: Vec<DateTime> =
            days.flat_map(|day| times.iter().map(move |time| day.to_datetime(*time))).collect();
        if self.positions.is_empty() {
            return all;
        }
        let n = all.len();
        let mut chosen: Vec<DateTime> =
            self.positions.iter().filter_map(|at| all.get(index(*at, n)?).copied()).collect();
        chosen.sort_unstable();
        chosen.dedup();
        chosen
    }

    fn lets_pass(&self, start: Date, day: Date) -> bool {
        let no_day = self.week_numbers.is_empty()
            && self.year_days.is_empty()
            && self.month_days.is_empty()
            && self.weekdays.is_empty();
        if !self.months.is_empty() && !self.months.contains(&i16::from(day.month()))
            || !self.month_days.is_empty() && !self.on_month_day(day)
            || !self.year_days.is_empty() && !self.on_year_day(day)
            || !self.week_numbers.is_empty() && !self.in_week_number(day)
            || !self.weekdays.is_empty() && !self.on_weekday(day)
        {
            return false;
        }
        // What the rule leaves open is taken from the start.
        match self.frequency {
            Frequency::Daily => true,
            Frequency::Weekly => !no_day || day.weekday() == start.weekday(),
            Frequency::Monthly => !no_day || day.day() == start.day(),
            Frequency::Yearly if no_day => {
                day.day() == start.day() && (!self.months.is_empty() || day.month() == start.month())
            }
            Frequency::Yearly => {
                // A week number alone means the weekday of the start.
                let only_week =
                    self.weekdays.is_empty() && self.month_days.is_empty() && self.year_days.is_empty();
                !only_week || day.weekday() == start.weekday()
            }
        }
    }

    fn on_month_day(&self, day: Date) -> bool {
        contains_either(&self.month_days, i16::from(day.day()), i16::from(day.days_in_month()))
    }

    fn on_year_day(&self, day: Date) -> bool {
        contains_either(&self.year_days, day.day_of_year(), day.days_in_year())
    }

    fn on_weekday(&self, day: Date) -> bool {
        // A number counts within the month, unless the year has no months chosen.
        let within_month = self.frequency == Frequency::Monthly || !self.months.is_empty();
        let (at, length) = match within_month {
            true => (i16::from(day.day()), i16::from(day.days_in_month())),
            false => (day.day_of_year(), day.days_in_year()),
        };
        let (from_start, from_end) = ((at - 1) / 7 + 1, -((length - at) / 7 + 1));
        self.weekdays.iter().any(|(nth, weekday)| {
            *weekday == day.weekday() && (*nth == 0 || *nth == from_start || *nth == from_end)
        })
    }

    /// Weeks as ISO 8601 numbers them, but from the rule's own first weekday.
    fn in_week_number(&self, day: Date) -> bool {
        let first_week = |year: i16| {
            // The first week is the one with four days of the year, and so with 4 January.
            let fourth = Date::new(year, 1, 4).ok()?;
            fourth.checked_sub(i64::from(fourth.weekday().since(self.week_start)).days()).ok()
        };
        let year = day.year();
        let number = |year: i16| {
            let (first, next) = (first_week(year)?, first_week(year.checked_add(1)?)?);
            let weeks = |from: Date, to: Date| i16::try_from(from.duration_until(to).as_hours() / 168).ok();
            if !(first <= day && day < next) {
                return None;
            }
            Some((weeks(first, day)? + 1, weeks(first, next)?))
        };
        // Days at the turn of the year that belong to another year's week are not of this interval.
        number(year).is_some_and(|(week, weeks)| contains_either(&self.week_numbers, week, weeks))
    }

    fn times(&self, start: Time) -> Vec<Time> {
        let or_start = |list: &[i16], own: i8| match list.is_empty() {
            true => vec![i16::from(own)],
            false => list.to_vec(),
        };
        let mut times = Vec::new();
        for hour in or_start(&self.hours, start.hour()) {
            for minute in or_start(&self.minutes, start.minute()) {
                for second in or_start(&self.seconds, start.second()) {
                    let part = |value: i16| i8::try_from(value).unwrap_or(0);
                    times.extend(Time::new(part(hour), part(minute), part(second), 0));
                }
            }
        }
        times.sort_unstable();
        times.dedup();
        times
    }
}

/// Whether a list has a number, counted from 1 at the start or from -1 at the end of `length`.
fn contains_either(list: &[i16], from_start: i16, length: i16) -> bool {
    list.contains(&from_start) || list.contains(&(from_start - length - 1))
}
