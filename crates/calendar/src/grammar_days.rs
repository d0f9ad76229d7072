//! The days of a rule in words: `last 3 business days of month`, `WD-2..WD+5`, `third friday of june`.
//!
//! It leaves hours, zones and rolling to `grammar`. Invariant: days that no calendar has (30 February,
//! the 40th business day of a month) are refused here.

use jiff::civil::{Date, Weekday};

use crate::{
    Fiscal, Period, YearEnd,
    date_rule::{Anchor, DateRule, month_named, weekday_named},
    days::Days,
    grammar::read_date,
};

/// Reads days from lower-case words.
pub(crate) fn read_days(words: &[&str]) -> Result<Days, String> {
    let (words, fiscal) = match words.windows(2).position(|pair| matches!(pair, ["in", "a" | "an"])) {
        Some(at) => {
            let (days, fiscal) = words.split_at(at);
            (days, Some(read_fiscal(fiscal.get(2..).unwrap_or_default())?))
        }
        None => (words, None),
    };
    let days = read(words, fiscal)?;
    if fiscal.is_some() && !words.contains(&"fiscal") {
        return Err(
            "it says how the fiscal year runs and names no `fiscal month`, `fiscal quarter` or `fiscal year`"
                .to_owned(),
        );
    }
    Ok(days)
}

fn read(words: &[&str], fiscal: Option<Fiscal>) -> Result<Days, String> {
    let period = |words: &[&str]| read_period(words, fiscal);
    match words {
        [] => Err("it names no day".to_owned()),
        ["business", "days"] | ["every", "business", "day"] => Ok(Days::Business),
        ["weekdays"] | ["every", "weekday"] => Ok(Days::Weekdays),
        ["daily"] | ["every", "day"] => Ok(Days::Daily),
        ["first", "business", "day", "of", of @ ..] => first(1, period(of)?),
        ["last", "business", "day", "of", of @ ..] => last(1, period(of)?),
        ["first", count, "business", "day" | "days", "of", of @ ..] => first(read_count(count)?, period(of)?),
        ["last", count, "business", "day" | "days", "of", of @ ..] => last(read_count(count)?, period(of)?),
        [edge @ ("first" | "last"), "day", "of", of @ ..] => match of {
            [months @ ..] if months.iter().all(|word| *word == "and" || month_named(word).is_some()) => {
                Ok(Days::Yearly(edges(*edge == "last", months)))
            }
            _ => Ok(Days::Edge { last: *edge == "last", period: period(of)? }),
        },
        [from, "to", to, of @ ..] if from.starts_with("wd") => read_around(from, to, of, fiscal),
        [word, of @ ..] if word.starts_with("wd") => match word.split_once("..") {
            Some((from, to)) => read_around(from, to, of, fiscal),
            None => {
                let period = read_of(of, fiscal)?;
                Ok(Days::Nth { nth: within(read_wd(word)?, period)?, period })
            }
        },
        ["every", "other", "week", "from", date] => Ok(Days::EveryWeeks { weeks: 2, from: read_date(date)? }),
        ["every", weeks, "weeks", "from", date] => match weeks.parse() {
            Ok(weeks @ 1..=104) => Ok(Days::EveryWeeks { weeks, from: read_date(date)? }),
            _ => Err(format!("`{weeks}` is no number of weeks; write 1 to 104")),
        },
        ["every", weekdays @ ..] if weekdays.iter().any(|word| weekday_named(word).is_some()) => {
            read_weekdays(weekdays)
        }
        [word] if word.starts_with(|first: char| first.is_ascii_digit()) && word.len() > 5 => {
            read_dates(word)
        }
        [from, "to", to] if from.starts_with("2") => read_dates(&format!("{from}..{to}")),
        _ => read_yearly(words),
    }
}

fn first(count: u16, period: Period) -> Result<Days, String> {
    within(i16::try_from(count).unwrap_or(i16::MAX), period)?;
    Ok(Days::First { count, period })
}

fn last(count: u16, period: Period) -> Result<Days, String> {
    within(i16::try_from(count).unwrap_or(i16::MAX), period)?;
    Ok(Days::Last { count, period })
}

/// First or last day of these months. The last is the day before the first of the next.
fn edges(last: bool, months: &[&str]) -> Vec<DateRule> {
    let months = months.iter().filter_map(|word| month_named(word));
    let rule = |month: i8, offset| DateRule { anchor: Anchor::Fixed { month, day: 1 }, offset };
    months.map(|month| if last { rule(month % 12 + 1, -1) } else { rule(month, 0) }).collect()
}

fn read_yearly(words: &[&str]) -> Result<Days, String> {
    if let Some(at) = words.iter().position(|word| *word == "to") {
        let (from, to) = (words.get(..at).unwrap_or_default(), words.get(at + 1..).unwrap_or_default());
        if let (Some(first), Some(last)) = (DateRule::read(from), DateRule::read(to)) {
            return match (first?.as_slice(), last?.as_slice()) {
                ([first], [last]) => Ok(Days::YearlyRun { first: *first, last: *last }),
                _ => Err("a run of days has one first and one last day".to_owned()),
            };
        }
    }
    match DateRule::read(words) {
        Some(rules) => rules.map(Days::Yearly),
        None => Err(format!("`{}` is none of the days that can be told", words.join(" "))),
    }
}

fn read_around(from: &str, to: &str, of: &[&str], fiscal: Option<Fiscal>) -> Result<Days, String> {
    let period = read_of(of, fiscal)?;
    let (from, to) = (within(read_wd(from)?, period)?, within(read_wd(to)?, period)?);
    if from.signum() == to.signum() && to < from || from > 0 && to < 0 {
        return Err(
            "it ends before it begins; write the earlier business day first, such as `WD-2..WD+5`".to_owned()
        );
    }
    Ok(Days::Around { from, to, period })
}

/// The period of a business day; the month where none is named.
fn read_of(words: &[&str], fiscal: Option<Fiscal>) -> Result<Period, String> {
    match words {
        [] => Ok(Period::Month),
        ["of", of @ ..] => read_period(of, fiscal),
        _ => Err(format!("`{}` is none of the days that can be told", words.join(" "))),
    }
}

fn read_period(words: &[&str], fiscal: Option<Fiscal>) -> Result<Period, String> {
    let words = match words {
        ["each" | "every", rest @ ..] => rest,
        all => all,
    };
    let known = |make: fn(Fiscal) -> Period| {
        fiscal.map(make).ok_or_else(|| {
            "it does not say how the fiscal year runs; add `in a year from october`, `in a 4-4-5 year ending last saturday of september` or `in an nrf year`".to_owned()
        })
    };
    match words {
        ["month"] => Ok(Period::Month),
        ["quarter"] => Ok(Period::Quarter),
        ["year"] => Ok(Period::Year),
        ["fiscal", "month" | "period"] => known(Period::FiscalMonth),
        ["fiscal", "quarter"] => known(Period::FiscalQuarter),
        ["fiscal", "year"] => known(Period::FiscalYear),
        _ => Err(format!(
            "`{}` is no period; write month, quarter or year, or the same with `fiscal` before it",
            words.join(" ")
        )),
    }
}

/// `year from october`, `4-4-5 year ending last saturday of september`, `nrf year`.
fn read_fiscal(words: &[&str]) -> Result<Fiscal, String> {
    let (words, by_start) = match words {
        [rest @ .., "named", "by", "its", "start"] => (rest, true),
        all => (all, false),
    };
    let found = match words {
        ["nrf", "year"] => Some(Fiscal::NRF),
        ["year", "from", month] => month_named(month).and_then(Fiscal::months),
        [weeks, "year", "ending", end @ ..] => {
            read_pattern(weeks).zip(read_end(end)).and_then(|(pattern, end)| Fiscal::weeks(pattern, end))
        }
        _ => None,
    };
    let found = found.ok_or_else(|| {
        format!(
            "`in a {}` is no fiscal year; write `in a year from october`, `in a 4-4-5 year ending last saturday of september`, `in a 4-5-4 year ending saturday nearest january 31` or `in an nrf year`",
            words.join(" ")
        )
    })?;
    Ok(if by_start { found.named_by_start() } else { found })
}

fn read_pattern(word: &str) -> Option<[i8; 3]> {
    let weeks: Vec<i8> = word.split('-').map(|weeks| weeks.parse().ok()).collect::<Option<_>>()?;
    weeks.try_into().ok()
}

fn read_end(words: &[&str]) -> Option<YearEnd> {
    match words {
        ["last", weekday, "of", month] => Some(YearEnd::Last(weekday_named(weekday)?, month_named(month)?)),
        [weekday, "nearest", month, day] => {
            let (weekday, month) = (weekday_named(weekday)?, month_named(month)?);
            // 2001: a year without 29 February, whose fiscal year ends on the 28th.
            let last = Date::new(2001, month, 1).ok()?.last_of_month().day();
            (day.parse() == Ok(last)).then_some(YearEnd::Nearest(weekday, month))
        }
        _ => None,
    }
}

fn read_count(word: &str) -> Result<u16, String> {
    match word.parse() {
        Ok(count) if count > 0 => Ok(count),
        _ => Err(format!("`{word}` is no number of days; write 1 or more")),
    }
}

/// `wd-3` -> -3. `WD0` is refused: some teams mean the last business day by it, some the first.
fn read_wd(word: &str) -> Result<i16, String> {
    match word.strip_prefix("wd").filter(|nth| nth.starts_with(['+', '-'])).map(str::parse) {
        Some(Ok(nth)) if nth != 0 => Ok(nth),
        _ => {
            Err(format!("`{word}` is no business day; `WD-1` is the last one of a period, `WD+1` the first"))
        }
    }
}

fn within(nth: i16, period: Period) -> Result<i16, String> {
    match nth.unsigned_abs() > period.most_days() {
        true => Err(format!("it never happens: no {period} has {} business days", nth.unsigned_abs())),
        false => Ok(nth),
    }
}

fn read_weekdays(words: &[&str]) -> Result<Days, String> {
    let mut weekdays: Vec<Weekday> = Vec::new();
    for word in words.iter().filter(|word| **word != "and") {
        weekdays.push(
            weekday_named(word)
                .ok_or_else(|| format!("`{word}` is no weekday; write `monday`, `tuesday` and so on"))?,
        );
    }
    Ok(Days::Weekly(weekdays))
}

fn read_dates(word: &str) -> Result<Days, String> {
    let (first, last) = word.split_once("..").unwrap_or((word, word));
    let (first, last) = (read_date(first)?, read_date(last)?);
    if last < first {
        return Err(format!("the run of dates ends on {last}, before it begins"));
    }
    Ok(Days::Dates { first, last })
}
