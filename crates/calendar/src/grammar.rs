//! The text of a rule, read word by word. The language is described at [`crate::Rule::parse`].
//!
//! Invariant: what is not understood is refused, with the part that stopped it.

use jiff::civil::{Date, Time};

use crate::{
    Period, Rule,
    rule::{Days, Hours},
};

/// What every refusal ends with.
pub(crate) const UNDERSTOOD: &str = "understood are `last business day of month`, `first 3 business \
    days of quarter`, `WD-3`, `WD+2 of quarter`, `business days`, `weekdays`, `daily`, `2026-11-03` \
    and `2026-11-01..2026-11-15`, each alone or with `09:00-18:00` or `14:00` behind it";

/// Reads a rule, or says why not.
pub(crate) fn parse(text: &str) -> Result<Rule, String> {
    // People write en dashes and spaces around them.
    let plain = text.to_lowercase().replace(',', " ").replace(['\u{2013}', '\u{2014}'], "-");
    let mut words: Vec<&str> = plain.split_whitespace().collect();
    let mut hours = String::new();
    while let Some(word) = words.last().copied().filter(|word| word.contains(':') || *word == "-") {
        hours.insert_str(0, word);
        words.pop();
    }
    let hours = if hours.is_empty() { None } else { Some(read_hours(&hours)?) };
    Ok(Rule { text: text.trim().to_owned(), days: read_days(&words)?, hours })
}

fn read_days(words: &[&str]) -> Result<Days, String> {
    match words {
        [] => Err("it names no day".to_owned()),
        ["business", "days"] => Ok(Days::Business),
        ["weekdays"] => Ok(Days::Weekdays),
        ["daily"] => Ok(Days::Daily),
        ["first", "business", "day", "of", period] => {
            Ok(Days::First { count: 1, period: read_period(period)? })
        }
        ["last", "business", "day", "of", period] => {
            Ok(Days::Last { count: 1, period: read_period(period)? })
        }
        ["first", count, "business", "day" | "days", "of", period] => {
            Ok(Days::First { count: read_count(count)?, period: read_period(period)? })
        }
        ["last", count, "business", "day" | "days", "of", period] => {
            Ok(Days::Last { count: read_count(count)?, period: read_period(period)? })
        }
        [word] if word.starts_with("wd") => Ok(Days::Nth { nth: read_wd(word)?, period: Period::Month }),
        [word, "of", period] if word.starts_with("wd") => {
            Ok(Days::Nth { nth: read_wd(word)?, period: read_period(period)? })
        }
        [word] if word.starts_with(|first: char| first.is_ascii_digit()) => read_dates(word),
        _ => Err(format!("`{}` is none of the days that can be told", words.join(" "))),
    }
}

fn read_period(word: &str) -> Result<Period, String> {
    match word {
        "month" => Ok(Period::Month),
        "quarter" => Ok(Period::Quarter),
        "year" => Ok(Period::Year),
        _ => Err(format!("`{word}` is no period; write month, quarter or year")),
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

fn read_dates(word: &str) -> Result<Days, String> {
    let date =
        |text: &str| text.parse::<Date>().map_err(|_| format!("`{text}` is no date; write it as 2026-11-03"));
    let (first, last) = word.split_once("..").unwrap_or((word, word));
    let (first, last) = (date(first)?, date(last)?);
    if last < first {
        return Err(format!("the run of dates ends on {last}, before it begins"));
    }
    Ok(Days::Dates { first, last })
}

fn read_hours(text: &str) -> Result<Hours, String> {
    let (start, end) = match text.split_once('-') {
        Some((start, end)) => (read_time(start)?, Some(end)),
        None => (read_time(text)?, None),
    };
    let end = match end {
        None | Some("24:00") => None,
        Some(end) => Some(read_time(end)?),
    };
    if end == Some(start) {
        return Err(format!("`{text}` begins and ends at the same time"));
    }
    Ok(Hours { start, end })
}

fn read_time(text: &str) -> Result<Time, String> {
    let wrong = || format!("`{text}` is no time of day; write it as 09:00");
    let (hour, minute) = text.split_once(':').ok_or_else(wrong)?;
    let number = |digits: &str| {
        let plain = (1..=2).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
        plain.then(|| digits.parse::<i8>().ok()).flatten()
    };
    let (hour, minute) = number(hour).zip(number(minute)).ok_or_else(wrong)?;
    Time::new(hour, minute, 0, 0).map_err(|_| wrong())
}
