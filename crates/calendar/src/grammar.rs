//! The text of a rule, read word by word. The language is in `GRAMMAR.md`, which the crate's
//! documentation shows and whose rows the tests execute.
//!
//! It leaves the days themselves to `grammar_days`. Invariant: what is not understood is refused, with
//! the part that stopped it.

use jiff::{
    civil::{Date, Time},
    tz::{TimeZone, TimeZoneDatabase},
};

use crate::{
    Roll,
    clause::{Clause, Hours},
    days::Days,
    grammar_days::read_days,
};

/// What every refusal ends with.
pub(crate) const UNDERSTOOD: &str = "understood are `last business day of month`, `first 3 business \
    days of quarter`, `WD-3`, `WD+2 of quarter`, `WD-2..WD+5`, `third friday of march, june`, `every \
    monday`, `april 15 else next business day`, `business days`, `weekdays`, `daily`, `2026-11-03`, \
    `2026-11-01..2026-11-15`, `RRULE:FREQ=...` and the path of an .ics file, each alone or with \
    `09:00-18:00` or `14:00` behind it";

/// Reads the rules of a text, which `;` parts, or says why not.
pub(crate) fn parse(text: &str) -> Result<Vec<Clause>, String> {
    text.split(';').map(clause).collect()
}

/// Lower-case words without commas and articles; dashes that people type become plain ones.
fn plain(text: &str) -> String {
    text.to_lowercase().replace(',', " ").replace(['\u{2013}', '\u{2014}'], "-")
}

fn clause(text: &str) -> Result<Clause, String> {
    let plain = plain(text);
    let mut words: Vec<&str> = plain.split_whitespace().filter(|word| *word != "the").collect();
    let zone = read_zone(&mut words)?;
    let hours = split_hours(&mut words)?;
    let (mut since, mut until) = (None, None);
    while let [.., key @ ("since" | "until"), day] = words.as_slice() {
        let day = read_date(day)?;
        if *key == "since" {
            since = Some(day)
        } else {
            until = Some(day)
        }
        words.truncate(words.len() - 2);
    }
    if since.zip(until).is_some_and(|(since, until)| until < since) {
        return Err("it never happens: it ends before it begins".to_owned());
    }
    let roll = match words.iter().position(|word| *word == "else") {
        Some(at) => Some(read_roll(&words.split_off(at))?),
        None => None,
    };
    let days = read_days(&words)?;
    if let Days::Dates { first, .. } = days
        && (since.is_some_and(|since| first < since) || until.is_some_and(|until| first > until))
    {
        return Err("it never happens: its date lies outside since and until".to_owned());
    }
    Ok(Clause { days, roll, since, until, hours, zone })
}

/// A trailing IANA zone, such as `Europe/London` or `UTC`.
fn read_zone(words: &mut Vec<&str>) -> Result<Option<TimeZone>, String> {
    match words.last() {
        Some(name) if name.contains('/') || *name == "utc" => {
            let zone = TimeZoneDatabase::bundled()
                .get(name)
                .map_err(|_| format!("`{name}` is no IANA time zone; write one such as Europe/London"))?;
            words.pop();
            Ok(Some(zone))
        }
        _ => Ok(None),
    }
}

/// Trailing hours.
fn split_hours(words: &mut Vec<&str>) -> Result<Option<Hours>, String> {
    let mut hours = String::new();
    while let Some(word) = words.last().copied().filter(|word| word.contains(':') || *word == "-") {
        hours.insert_str(0, word);
        words.pop();
    }
    if hours.is_empty() { Ok(None) } else { read_hours(&hours).map(Some) }
}

fn read_roll(words: &[&str]) -> Result<Roll, String> {
    match words {
        ["else", "next", "business", "day"] => Ok(Roll::Next),
        ["else", "previous", "business", "day"] => Ok(Roll::Previous),
        ["else", "nearest", "business", "day"] => Ok(Roll::Nearest),
        ["else", "next", "business", "day", "of", "month"] => Ok(Roll::NextInMonth),
        ["else", "previous", "business", "day", "of", "month"] => Ok(Roll::PreviousInMonth),
        _ => Err(format!(
            "`{}` does not say where a day off moves to; write `else next business day`, `else previous business day`, `else nearest business day`, or one of the first two with `of month`",
            words.join(" ")
        )),
    }
}

/// `2026-11-03`.
pub(crate) fn read_date(text: &str) -> Result<Date, String> {
    let written = text.len() == 10 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    text.parse::<Date>().ok().filter(|_| written).ok_or_else(|| {
        match text.parse::<Date>().is_err() && written {
            true => format!("`{text}` is no date of the calendar: it never happens; write it as 2026-11-03"),
            false => format!("`{text}` is no date; write it as 2026-11-03"),
        }
    })
}

/// `09:00-18:00`, `14:00`.
pub(crate) fn read_hours(text: &str) -> Result<Hours, String> {
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
