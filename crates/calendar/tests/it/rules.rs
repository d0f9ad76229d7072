//! Rules: what they say, when they take place, and how a text that is none is answered.

use jiff::Timestamp;
use plimsoll_calendar::{CalendarError, Occurrence, Rule, whole};

use crate::us_federal;

/// Windows of a rule in New York, as `id start/end` in UTC.
fn windows(rule: &str, from: &str, to: &str) -> Vec<String> {
    list(&occurrences(rule, from, to).unwrap())
}

fn occurrences(rule: &str, from: &str, to: &str) -> Result<Vec<Occurrence>, CalendarError> {
    let instant = |day: &str| format!("{day}T00:00:00Z").parse::<Timestamp>().unwrap();
    Rule::parse(rule)?.occurrences(&us_federal("America/New_York"), instant(from), instant(to))
}

fn list(windows: &[Occurrence]) -> Vec<String> {
    windows.iter().map(|window| format!("{} {}/{}", window.id, window.start, window.end)).collect()
}

/// Protects the rule of the plan spec: three windows a close, one id, and hours that follow the clock
/// (EDT in October, EST in November).
#[test]
fn the_last_three_business_days() {
    let rule = "last 3 business days of month, 09:00-18:00";
    assert_eq!(
        windows(rule, "2026-10-15", "2026-12-01"),
        [
            "2026-10 2026-10-28T13:00:00Z/2026-10-28T22:00:00Z",
            "2026-10 2026-10-29T13:00:00Z/2026-10-29T22:00:00Z",
            "2026-10 2026-10-30T13:00:00Z/2026-10-30T22:00:00Z",
            "2026-11 2026-11-25T14:00:00Z/2026-11-25T23:00:00Z",
            "2026-11 2026-11-27T14:00:00Z/2026-11-27T23:00:00Z",
            "2026-11 2026-11-30T14:00:00Z/2026-11-30T23:00:00Z",
        ]
    );
    let closes = whole(&occurrences(rule, "2026-10-15", "2026-12-01").unwrap());
    assert_eq!(
        list(&closes),
        [
            "2026-10 2026-10-28T13:00:00Z/2026-10-30T22:00:00Z",
            "2026-11 2026-11-25T14:00:00Z/2026-11-30T23:00:00Z",
        ]
    );
}

/// Protects every other form of the grammar, case and spacing.
#[test]
fn every_form_takes_place() {
    for (rule, from, to, expected) in [
        (
            "Last business day of quarter 14:00",
            "2026-11-02",
            "2027-01-31",
            vec!["2026-Q4 2026-12-31T19:00:00Z/2027-01-01T05:00:00Z"],
        ),
        (
            "first business day of month 09:00-12:00",
            "2026-11-01",
            "2026-12-01",
            vec!["2026-11 2026-11-02T14:00:00Z/2026-11-02T17:00:00Z"],
        ),
        (
            "first 2 business days of year, 09:00 - 10:00",
            "2026-12-01",
            "2027-02-01",
            vec![
                "2027 2027-01-04T14:00:00Z/2027-01-04T15:00:00Z",
                "2027 2027-01-05T14:00:00Z/2027-01-05T15:00:00Z",
            ],
        ),
        (
            "WD-3 09:00\u{2013}10:00",
            "2026-11-01",
            "2026-12-01",
            vec!["2026-11 2026-11-25T14:00:00Z/2026-11-25T15:00:00Z"],
        ),
        (
            "wd+2 of quarter 09:00-10:00",
            "2026-09-15",
            "2026-12-31",
            vec!["2026-Q4 2026-10-02T13:00:00Z/2026-10-02T14:00:00Z"],
        ),
        (
            "2026-11-03",
            "2026-01-01",
            "2026-12-31",
            vec!["2026-11-03 2026-11-03T05:00:00Z/2026-11-04T05:00:00Z"],
        ),
        (
            "2026-11-01..2026-11-15",
            "2026-01-01",
            "2026-12-31",
            vec!["2026-11-01 2026-11-01T04:00:00Z/2026-11-16T05:00:00Z"],
        ),
        (
            "2026-11-01..2026-11-02 09:00-24:00",
            "2026-01-01",
            "2026-12-31",
            vec![
                "2026-11-01 2026-11-01T14:00:00Z/2026-11-02T05:00:00Z",
                "2026-11-01 2026-11-02T14:00:00Z/2026-11-03T05:00:00Z",
            ],
        ),
        (
            "business days 09:00-17:00",
            "2026-11-10",
            "2026-11-13",
            vec![
                "2026-11-10 2026-11-10T14:00:00Z/2026-11-10T22:00:00Z",
                "2026-11-12 2026-11-12T14:00:00Z/2026-11-12T22:00:00Z",
            ],
        ),
        (
            "weekdays 09:00-17:00",
            "2026-11-11",
            "2026-11-12",
            vec!["2026-11-11 2026-11-11T14:00:00Z/2026-11-11T22:00:00Z"],
        ),
        (
            "daily 22:00-02:00",
            "2026-11-07",
            "2026-11-08",
            vec!["2026-11-06 2026-11-07T03:00:00Z/2026-11-07T07:00:00Z"],
        ),
    ] {
        assert_eq!(windows(rule, from, to), expected, "{rule}");
    }
}

/// Protects daylight saving time: a daily hour is met once on each local date, never twice; the hour
/// that 8 March skips leaves no window; a whole day has 23 hours.
#[test]
fn clock_changes_do_not_double_or_shift() {
    assert_eq!(windows("daily 01:00-01:30", "2026-10-31", "2026-11-03").len(), 3);
    assert_eq!(windows("daily 02:00-03:00", "2026-03-08", "2026-03-09"), Vec::<String>::new());
    assert_eq!(
        windows("2026-03-08", "2026-03-01", "2026-03-31"),
        ["2026-03-08 2026-03-08T05:00:00Z/2026-03-09T04:00:00Z"]
    );
}

/// Protects the half-open query: a window that only touches an end is outside, one that reaches in is
/// given whole.
#[test]
fn a_query_is_half_open() {
    let at = |text: &str| text.parse::<Timestamp>().unwrap();
    let rule = Rule::parse("2026-11-03 09:00-10:00").unwrap();
    let calendar = us_federal("UTC");
    let count = |from, to| rule.occurrences(&calendar, at(from), at(to)).unwrap().len();
    assert_eq!(count("2026-11-03T10:00:00Z", "2026-11-04T00:00:00Z"), 0);
    assert_eq!(count("2026-11-03T08:00:00Z", "2026-11-03T09:00:00Z"), 0);
    assert_eq!(count("2026-11-03T09:59:59Z", "2026-11-03T10:00:00Z"), 1);
    assert_eq!(count("2026-11-04T00:00:00Z", "2026-11-03T00:00:00Z"), 0);
}

/// Protects the honest answer: a rule that needs business days beyond the known years fails; one that
/// needs none does not.
#[test]
fn beyond_the_known_years() {
    let beyond = occurrences("last business day of month", "2051-06-01", "2051-07-01");
    assert!(matches!(beyond, Err(CalendarError::Unknown { .. })), "{beyond:?}");
    assert_eq!(windows("weekdays", "2051-06-05", "2051-06-06").len(), 1);
}

/// Protects refusals: what was not understood, and what is.
#[test]
fn a_text_that_is_no_rule_is_explained() {
    for (rule, why) in [
        ("", "it names no day"),
        ("09:00-18:00", "it names no day"),
        ("last buisness day of month", "none of the days that can be told"),
        ("last 0 business days of month", "write 1 or more"),
        ("last business day of week", "write month, quarter or year"),
        ("WD0", "`WD-1` is the last one"),
        ("WD3", "`WD-1` is the last one"),
        ("2026-13-01", "write it as 2026-11-03"),
        ("2026-11-15..2026-11-01", "before it begins"),
        ("weekdays 9-17", "none of the days"),
        ("weekdays 25:00-26:00", "write it as 09:00"),
        ("weekdays 09:00-09:00", "begins and ends at the same time"),
        ("FREQ=MONTHLY;BYDAY=FR", "none of the days"),
        ("february 30", "it never happens: February has no day 30"),
        ("31st of april", "it never happens: April has no day 31"),
        ("2026-02-30", "it never happens"),
        ("WD+32", "it never happens: no month has 32 business days"),
        ("2026-11-03 since 2027-01-01", "it never happens"),
        ("every monday since 2027-01-01 until 2026-01-01", "it never happens"),
        ("WD+5..WD-2", "the earlier business day first"),
        ("15th of month else tomorrow", "where a day off moves to"),
        ("last day of fiscal year", "how the fiscal year runs"),
        ("last day of year in a year from october", "names no `fiscal month`"),
        ("last day of fiscal year in a 4-4-4 year ending last saturday of june", "is no fiscal year"),
        ("november 11 Asia/Shangai", "is no IANA time zone"),
    ] {
        let said = Rule::parse(rule).unwrap_err().to_string();
        assert!(said.contains(why), "{rule}: {said}");
        let forms = said.contains("understood are `last business day of month`");
        assert_eq!(forms, !said.contains("never happens"), "{said}");
    }
    assert_eq!(Rule::parse(" WD-3 ").unwrap().to_string(), "WD-3");
}
