//! Business days and holidays, by the golden dates of the request facts (G) and T22.

use jiff::civil::{Date, date};
use plimsoll_calendar::{Calendar, CalendarError, HolidaySet, Period};

use crate::{texts, us_federal};

fn new_york() -> Calendar {
    us_federal("America/New_York")
}

/// G1, T22: 1 January 2022 is a Saturday, observed on 31 December 2021. G5 the same for 2027.
#[test]
fn new_years_day_is_observed_in_the_year_before() -> Result<(), CalendarError> {
    let calendar = new_york();
    assert_eq!(calendar.last_business_day(date(2021, 12, 1), Period::Month)?, date(2021, 12, 30));
    assert_eq!(calendar.last_business_day(date(2027, 12, 1), Period::Quarter)?, date(2027, 12, 30));
    let names: Vec<_> = calendar.holidays(date(2021, 12, 26), date(2022, 1, 16)).collect();
    assert_eq!(names, [(date(2021, 12, 31), "New Year's Day (observed)")]);
    Ok(())
}

/// G2: without holidays the last weekday of December 2021 is the 31st.
#[test]
fn weekdays_know_no_holidays() -> Result<(), CalendarError> {
    let weekdays = Calendar::named(texts(), "weekdays", "UTC")?;
    assert_eq!(weekdays.last_business_day(date(2021, 12, 1), Period::Month)?, date(2021, 12, 31));
    Ok(())
}

/// G3, G4, G6, G13: observance on the Friday before and the Monday after, and what it does to WD+n.
#[test]
fn observed_days_are_closed() -> Result<(), CalendarError> {
    let calendar = new_york();
    assert!(!calendar.is_business_day(date(2026, 7, 3))?, "G3");
    assert!(!calendar.is_business_day(date(2027, 6, 18))?, "G4");
    assert_eq!(calendar.nth_business_day(date(2028, 1, 15), Period::Month, 1)?, date(2028, 1, 3), "G6");
    assert_eq!(calendar.nth_business_day(date(2029, 4, 15), Period::Month, 3)?, date(2029, 4, 4), "G13");
    assert!(!calendar.is_business_day(date(2028, 11, 23))?, "G21");
    assert!(calendar.is_business_day(date(2028, 11, 30))?, "G21");
    Ok(())
}

/// Protects `since`: Juneteenth is a holiday from 2021 on, that year observed on Friday the 18th.
#[test]
fn a_holiday_begins_with_its_law() -> Result<(), CalendarError> {
    let calendar = new_york();
    assert!(calendar.is_business_day(date(2020, 6, 19))?);
    assert!(!calendar.is_business_day(date(2021, 6, 18))?);
    Ok(())
}

/// Protects the whole rule set: the eleven days of 2026 and their dates, as published.
#[test]
fn the_eleven_days_of_2026() {
    let calendar = new_york();
    let days: Vec<Date> = calendar.holidays(date(2026, 1, 1), date(2026, 12, 31)).map(|day| day.0).collect();
    let expected =
        [(1, 1), (1, 19), (2, 16), (5, 25), (6, 19), (7, 3), (9, 7), (10, 12), (11, 11), (11, 26), (12, 25)];
    assert_eq!(days, expected.map(|(month, day)| date(2026, month, day)));
}

/// The closes of the example company, and the last safe day of PLANNING's lead times.
#[test]
fn the_closes_of_the_example_company() -> Result<(), CalendarError> {
    let calendar = new_york();
    let last = |month| calendar.last_business_day(date(2026, month, 1), Period::Month);
    assert_eq!([last(8)?, last(9)?], [date(2026, 8, 31), date(2026, 9, 30)]);
    assert_eq!([last(10)?, last(11)?], [date(2026, 10, 30), date(2026, 11, 30)]);
    // Ten business days before the close of 30 November: Thanksgiving does not count.
    assert_eq!(calendar.add_business_days(date(2026, 11, 30), -10)?, date(2026, 11, 13));
    assert_eq!(calendar.business_days_between(date(2026, 11, 13), date(2026, 11, 30))?, 10);
    Ok(())
}

/// T22: a weekend that is worked is a business day, and a holiday listed twice is one row.
#[test]
fn worked_weekends_and_doubles() -> Result<(), CalendarError> {
    let text = r#"
        name = "CN"
        title = "a part of 2024"
        source = { title = "State Council notice", read_on = "2026-11-01" }
        valid_from = "2024-01-01"
        valid_through = "2024-12-31"
        weekend = ["saturday", "sunday"]
        closure = [
          { name = "Mid-Autumn", date = "2024-09-16" },
          { name = "Mid-Autumn again", date = "2024-09-16" },
        ]
        workday = [{ name = "make-up day", date = "2024-09-14" }]
    "#;
    let set = HolidaySet::read("cn.toml", text)?;
    let calendar = Calendar::new(set, jiff::tz::TimeZone::UTC);
    assert!(calendar.is_business_day(date(2024, 9, 14))?);
    assert!(!calendar.is_business_day(date(2024, 9, 15))?);
    assert_eq!(calendar.holidays(date(2024, 1, 1), date(2024, 12, 31)).count(), 1);
    Ok(())
}

/// Protects the honest answer: outside its years a calendar does not know.
#[test]
fn outside_its_years_a_calendar_does_not_know() {
    let calendar = new_york();
    let (from, through) = calendar.valid();
    let outside = [from.yesterday().unwrap(), through.tomorrow().unwrap()];
    for day in outside {
        let answer = calendar.is_business_day(day);
        assert!(matches!(answer, Err(CalendarError::Unknown { .. })), "{answer:?}");
    }
    let said = calendar.add_business_days(through, 1).unwrap_err().to_string();
    assert!(said.contains("is known from 2000-01-01 through 2050-12-31 only"), "{said}");
}

/// Protects numbering: WD-1 and WD+1 meet the last and the first day; there is no WD0.
#[test]
fn business_days_are_counted_from_both_ends() -> Result<(), CalendarError> {
    let calendar = new_york();
    let nth = |nth| calendar.nth_business_day(date(2026, 11, 18), Period::Month, nth);
    assert_eq!([nth(1)?, nth(2)?], [date(2026, 11, 2), date(2026, 11, 3)]);
    assert_eq!([nth(-1)?, nth(-3)?], [date(2026, 11, 30), date(2026, 11, 25)]);
    assert!(matches!(nth(0), Err(CalendarError::NoSuchDay { .. })));
    assert!(matches!(nth(24), Err(CalendarError::NoSuchDay { .. })));
    assert!(matches!(nth(-24), Err(CalendarError::NoSuchDay { .. })));
    assert_eq!(calendar.first_business_day(date(2026, 11, 18), Period::Quarter)?, date(2026, 10, 1));
    Ok(())
}
