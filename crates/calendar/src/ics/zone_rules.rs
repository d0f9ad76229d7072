//! A file's own `VTIMEZONE` rules as a zone.
//!
//! The rules in force are written as a POSIX time zone, of which the date library knows the arithmetic.
//! Outlook's begin in 1601, Google's often in 1970; both have one yearly rule a season. It leaves the
//! past to the built-in zones. Invariant: rules that cannot be written so give none, never a guess.

use jiff::{civil::Weekday, tz::TimeZone};

use super::{
    content::Component,
    moment::{Written, read_written},
};
use crate::recurrence::Recurrence;

/// One `STANDARD` or `DAYLIGHT`.
struct Season {
    /// When it first began, local time.
    begins: jiff::civil::DateTime,
    /// Seconds east of UTC.
    offset: i32,
    daylight: bool,
    /// Its yearly rule, where it has one without an end.
    rule: Option<Recurrence>,
}

/// The zone that a `VTIMEZONE` describes today, where that can be told.
pub(crate) fn own_rules(component: &Component) -> Option<TimeZone> {
    let seasons: Vec<Season> = component.children.iter().map(season).collect::<Option<_>>()?;
    let latest = |daylight: bool| {
        let of_kind = seasons.iter().filter(|season| season.daylight == daylight && season.rule.is_some());
        of_kind.max_by_key(|season| season.begins)
    };
    let text = match (latest(false), latest(true), seasons.as_slice()) {
        (Some(standard), Some(daylight), _) => format!(
            "<STD>{}<DST>{},{},{}",
            posix_offset(standard.offset),
            posix_offset(daylight.offset),
            posix_rule(daylight)?,
            posix_rule(standard)?,
        ),
        // One season and no other: the same offset all year.
        (_, None, [only]) => format!("<STD>{}", posix_offset(only.offset)),
        (_, _, all)
            if all.iter().all(|season| Some(season.offset) == all.first().map(|first| first.offset)) =>
        {
            format!("<STD>{}", posix_offset(all.first()?.offset))
        }
        _ => return None,
    };
    TimeZone::posix(&text).ok()
}

fn season(component: &Component) -> Option<Season> {
    let begins = match read_written(&component.get("DTSTART")?.value).ok()? {
        Written::Local(local) => local,
        Written::Date(date) => date.to_datetime(jiff::civil::Time::midnight()),
        Written::Instant(_) => return None,
    };
    let rule = match component.get("RRULE") {
        Some(rule) => Some(Recurrence::read(&rule.value).ok()?).filter(|rule| rule.until.is_none()),
        None => None,
    };
    let offset = offset(&component.get("TZOFFSETTO")?.value)?;
    Some(Season { begins, offset, daylight: component.name == "DAYLIGHT", rule })
}

/// `+0530`, `-040000` -> seconds.
fn offset(text: &str) -> Option<i32> {
    let (sign, digits) = match text.trim().split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let part = |from: usize| digits.get(from..from + 2).map_or(Some(0), |part| part.parse::<i32>().ok());
    (digits.len() >= 4).then_some(())?;
    Some(sign * (part(0)? * 3600 + part(2)? * 60 + part(4)?))
}

/// POSIX counts seconds west of UTC.
fn posix_offset(offset: i32) -> String {
    let sign = if offset > 0 { "-" } else { "" };
    let east = offset.abs();
    format!("{sign}{}:{:02}:{:02}", east / 3600, east / 60 % 60, east % 60)
}

/// `M3.2.0/2:00:00`: the second Sunday of March at two.
fn posix_rule(season: &Season) -> Option<String> {
    let rule = season.rule.as_ref()?;
    let month = match rule.months.as_slice() {
        [] => i16::from(season.begins.month()),
        [month] => *month,
        _ => return None,
    };
    let (week, weekday) = match (rule.weekdays.as_slice(), rule.month_days.as_slice()) {
        ([(-1, weekday)], []) => (5, *weekday),
        ([(week @ 1..=4, weekday)], []) => (*week, *weekday),
        // `BYDAY=SU;BYMONTHDAY=8,9,10,11,12,13,14` is the second Sunday.
        ([(0, weekday)], [first, .., last]) if last - first == 6 && first % 7 == 1 && *first <= 22 => {
            (first / 7 + 1, *weekday)
        }
        _ => return None,
    };
    let weekday = match weekday {
        Weekday::Sunday => 0,
        other => other.to_monday_one_offset(),
    };
    let time = season.begins.time();
    Some(format!("M{month}.{week}.{weekday}/{}:{:02}:{:02}", time.hour(), time.minute(), time.second()))
}
