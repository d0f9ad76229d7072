//! What holds on any day.

use std::sync::LazyLock;

use jiff::{
    Timestamp, ToSpan,
    civil::{Date, date},
};
use plimsoll_calendar::{Calendar, Period, Rule};
use proptest::prelude::*;

use crate::us_federal;

/// Read once: the days of fifty years take longer to find than to use.
static NEW_YORK: LazyLock<Calendar> = LazyLock::new(|| us_federal("America/New_York"));

fn any_day() -> impl Strategy<Value = Date> {
    (0..15_000_i64).prop_map(|days| date(2005, 1, 1).saturating_add(days.days()))
}

proptest! {
    /// Protects arithmetic: counting and adding are inverses, adding lands on a business day, and a
    /// step forward from there and back returns.
    #[test]
    fn adding_and_counting_agree(day in any_day(), n in -300..300_i32) {
        let calendar = &*NEW_YORK;
        let landed = calendar.add_business_days(day, n).unwrap();
        prop_assert_eq!(calendar.business_days_between(day, landed).unwrap(), n);
        if n != 0 {
            prop_assert!(calendar.is_business_day(landed).unwrap());
            let there = calendar.add_business_days(landed, n).unwrap();
            prop_assert_eq!(calendar.add_business_days(there, -n).unwrap(), landed);
        }
    }

    /// Protects periods: the nth day from the start is the same as counted from the end.
    #[test]
    fn both_ends_agree(day in any_day(), nth in 1..20_i32) {
        let calendar = &*NEW_YORK;
        for period in [Period::Month, Period::Quarter, Period::Year] {
            let (first, last) = period.bounds(day);
            let count = i32::try_from(calendar.business_days(first, last).unwrap().len()).unwrap();
            if nth <= count {
                let from_start = calendar.nth_business_day(day, period, nth).unwrap();
                let from_end = calendar.nth_business_day(day, period, nth - count - 1).unwrap();
                prop_assert_eq!(from_start, from_end);
            }
        }
    }

    /// Protects recurrence: windows are ordered, none is empty, each overlaps the query, and a query
    /// cut in two finds the same windows as the whole.
    #[test]
    fn occurrences_do_not_depend_on_the_cut(day in any_day(), length in 1..200_i64, cut in 0..200_i64) {
        let calendar = &*NEW_YORK;
        let at = |days: i64| calendar.start_of_day(day.saturating_add(days.days())).unwrap();
        let (from, to, middle) = (at(0), at(length), at(cut.min(length)));
        for text in ["last 3 business days of month, 09:00-18:00", "WD+2 of quarter", "daily 22:00-02:00",
            "WD-2..WD+5 09:00-18:00", "15th of month else previous business day of month",
            "november 1 to january 15", "every 2 weeks from 2026-01-09", "first day of fiscal month in an nrf year",
            "DTSTART:20100105 RRULE:FREQ=WEEKLY;INTERVAL=2 22:00-02:00",
            "RRULE:FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1 09:00-18:00"] {
            let rule = Rule::parse(text).unwrap();
            let find = |from: Timestamp, to: Timestamp| rule.occurrences(calendar, from, to).unwrap();
            let all = find(from, to);
            prop_assert!(all.iter().all(|window| window.start < window.end));
            prop_assert!(all.iter().all(|window| window.start < to && window.end > from));
            prop_assert!(all.is_sorted_by_key(|window| window.start));
            let mut parts = find(from, middle);
            for window in find(middle, to) {
                if !parts.contains(&window) {
                    parts.push(window);
                }
            }
            prop_assert_eq!(parts, all);
        }
    }
}
