//! A day of every year: `06-19`, `april 15`, `third monday of january`, `2 days before easter`.
//!
//! Holiday files and event rules share it. It leaves observance (what a holiday on a weekend becomes)
//! to the set and rolling to the rule. Invariant: at most one day a year, and one that some year has.

use jiff::{
    ToSpan,
    civil::{Date, Weekday},
};

/// A day of every year, moved by a number of days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct DateRule {
    pub(crate) anchor: Anchor,
    /// Days after it; before it where negative.
    pub(crate) offset: i16,
}

/// What the day is counted from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    /// The same day each year.
    Fixed { month: i8, day: i8 },
    /// The nth such weekday of a month; -1 is the last.
    Weekday { nth: i8, weekday: Weekday, month: i8 },
    /// Easter Sunday of the Gregorian calendar.
    Easter,
}

impl DateRule {
    /// Its day in `year`; none where the year has no such day (29 February, a fifth Monday).
    pub(crate) fn in_year(self, year: i16) -> Option<Date> {
        let day = match self.anchor {
            Anchor::Fixed { month, day } => Date::new(year, month, day).ok()?,
            Anchor::Weekday { nth, weekday, month } => {
                Date::new(year, month, 1).ok()?.nth_weekday_of_month(nth, weekday).ok()?
            }
            Anchor::Easter => easter(year)?,
        };
        day.checked_add(i64::from(self.offset).days()).ok()
    }

    /// Reads a day of the year from lower-case words; `month` means one rule for each month.
    ///
    /// None: it is not of this form. An error: it is, and no year has such a day.
    pub(crate) fn read(words: &[&str]) -> Option<Result<Vec<Self>, String>> {
        match words {
            [count, "day" | "days", side @ ("after" | "before"), rest @ ..] => {
                let count: i16 = count.parse().ok().filter(|days| (1..=60).contains(days))?;
                let offset = if *side == "after" { count } else { -count };
                Some(moved(Self::read(rest)?, offset))
            }
            ["day", "after", rest @ ..] => Some(moved(Self::read(rest)?, 1)),
            ["day", "before", rest @ ..] => Some(moved(Self::read(rest)?, -1)),
            ["easter"] => Some(Ok(vec![Self { anchor: Anchor::Easter, offset: 0 }])),
            [month, day] if month_named(month).is_some() => {
                let day = day_number(day)?;
                Some(each(&[month], |month| fixed(month, day)))
            }
            [day, "of", months @ ..] if day_number(day).is_some() => {
                let day = day_number(day)?;
                Some(each(months, |month| fixed(month, day)))
            }
            [nth, weekday, "of", months @ ..] => {
                let (nth, weekday) = ordinal(nth).zip(weekday_named(weekday))?;
                Some(each(months, |month| Ok(Anchor::Weekday { nth, weekday, month })))
            }
            [day] => {
                let (month, day) = day.split_once('-')?;
                let (month, day) = (month.parse().ok()?, day.parse().ok()?);
                Some(fixed(month, day).map(|anchor| vec![Self { anchor, offset: 0 }]))
            }
            _ => None,
        }
    }
}

impl TryFrom<String> for DateRule {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let lower = text.to_lowercase();
        let words: Vec<&str> = lower.split_whitespace().collect();
        match Self::read(&words) {
            Some(Ok(rules)) if rules.len() == 1 => Ok(rules[0]),
            Some(Err(why)) => Err(why),
            _ => Err(format!(
                "cannot read `{text}`; write a day such as `06-19`, `third monday of january`, `last monday of may` or `2 days before easter`"
            )),
        }
    }
}

fn moved(rules: Result<Vec<DateRule>, String>, by: i16) -> Result<Vec<DateRule>, String> {
    let rules = rules?;
    Ok(rules.into_iter().map(|rule| DateRule { offset: rule.offset + by, ..rule }).collect())
}

/// One rule for each month that is named; `month` names them all.
fn each(months: &[&str], anchor: impl Fn(i8) -> Result<Anchor, String>) -> Result<Vec<DateRule>, String> {
    if let ["month"] | ["each", "month"] | ["every", "month"] = months {
        // A day that some months lack (the 31st) is left out there, as a recurrence rule does.
        let rules = (1..=12).filter_map(|month| anchor(month).ok());
        let rules: Vec<_> = rules.map(|anchor| DateRule { anchor, offset: 0 }).collect();
        return if rules.is_empty() { anchor(1).map(|_| rules) } else { Ok(rules) };
    }
    let months = months.iter().filter(|word| **word != "and");
    let mut rules = Vec::new();
    for word in months {
        let month = month_named(word).ok_or_else(|| {
            format!("`{word}` is no month; write `january` to `december`, or `month` for each")
        })?;
        rules.push(DateRule { anchor: anchor(month)?, offset: 0 });
    }
    match rules.is_empty() {
        true => Err("it names no month".to_owned()),
        false => Ok(rules),
    }
}

fn fixed(month: i8, day: i8) -> Result<Anchor, String> {
    // A leap year, so that 29 February may be a rule.
    match Date::new(2000, month, day) {
        Ok(_) => Ok(Anchor::Fixed { month, day }),
        Err(_) => match MONTHS.get(usize::from(month.unsigned_abs()).wrapping_sub(1)) {
            Some(name) => Err(format!("it never happens: {} has no day {day}", capital(name))),
            None => Err(format!("it never happens: there is no month {month}")),
        },
    }
}

/// Easter Sunday by the anonymous Gregorian computus (Meeus, Astronomical Algorithms, chapter 8);
/// compared with a table in the tests.
pub(crate) fn easter(year: i16) -> Option<Date> {
    let y = i32::from(year);
    let (a, b, c) = (y % 19, y / 100, y % 100);
    let g = (8 * b + 13) / 25;
    let h = (19 * a + b - b / 4 - g + 15) % 30;
    let l = (32 + 2 * (b % 4) + 2 * (c / 4) - h - c % 4) % 7;
    let m = (a + 11 * h + 19 * l) / 433;
    let month = (h + l - 7 * m + 90) / 25;
    let day = (h + l - 7 * m + 33 * month + 19) % 32;
    Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
}

/// `15`, `15th`, `1st` -> the day of a month.
fn day_number(word: &str) -> Option<i8> {
    let digits = ["st", "nd", "rd", "th"].iter().find_map(|ending| word.strip_suffix(ending)).unwrap_or(word);
    digits.parse().ok().filter(|day| (1..=99).contains(day))
}

/// `first` to `fifth`, `last`.
pub(crate) fn ordinal(word: &str) -> Option<i8> {
    Some(match word {
        "first" | "1st" => 1,
        "second" | "2nd" => 2,
        "third" | "3rd" => 3,
        "fourth" | "4th" => 4,
        "fifth" | "5th" => 5,
        "last" => -1,
        _ => return None,
    })
}

/// The weekday of that English name, lower-case.
pub(crate) fn weekday_named(word: &str) -> Option<Weekday> {
    Some(match word {
        "monday" => Weekday::Monday,
        "tuesday" => Weekday::Tuesday,
        "wednesday" => Weekday::Wednesday,
        "thursday" => Weekday::Thursday,
        "friday" => Weekday::Friday,
        "saturday" => Weekday::Saturday,
        "sunday" => Weekday::Sunday,
        _ => return None,
    })
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// The month of that English name, lower-case.
pub(crate) fn month_named(word: &str) -> Option<i8> {
    (1..).zip(MONTHS).find(|(_, name)| *name == word).map(|(month, _)| month)
}

/// English name of a month, 1 to 12.
pub(crate) fn month_name(month: i8) -> String {
    let index = usize::from(month.unsigned_abs()).wrapping_sub(1);
    MONTHS.get(index).map_or_else(|| month.to_string(), |name| capital(name))
}

fn capital(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    first.to_uppercase() + rest
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    /// Protects each spelling of a rule against its known days (G21: the fourth Thursday of
    /// November 2028 is the 23rd, not the 30th; G11: Good Friday 2024).
    #[test]
    fn rules_fall_on_their_known_days() {
        let day = |text: &str, year| DateRule::try_from(text.to_owned()).ok()?.in_year(year);
        assert_eq!(day("06-19", 2026), Some(date(2026, 6, 19)));
        assert_eq!(day("June 19", 2026), Some(date(2026, 6, 19)));
        assert_eq!(day("19th of June", 2026), Some(date(2026, 6, 19)));
        assert_eq!(day("fourth thursday of november", 2028), Some(date(2028, 11, 23)));
        assert_eq!(day("4 days after fourth thursday of november", 2025), Some(date(2025, 12, 1)));
        assert_eq!(day("last monday of may", 2026), Some(date(2026, 5, 25)));
        assert_eq!(day("2 days before easter", 2024), Some(date(2024, 3, 29)));
        assert_eq!(day("day after easter", 2024), Some(date(2024, 4, 1)));
        assert_eq!(day("02-29", 2027), None);
    }

    /// Protects the computus against published Easter Sundays, the earliest and latest possible among
    /// them.
    #[test]
    fn easter_falls_on_published_days() {
        for (year, month, day) in [
            (1818, 3, 22),
            (1943, 4, 25),
            (2000, 4, 23),
            (2019, 4, 21),
            (2024, 3, 31),
            (2025, 4, 20),
            (2029, 4, 1),
            (2038, 4, 25),
        ] {
            assert_eq!(easter(year), Some(date(year, month, day)));
        }
    }

    /// Protects the refusal of days that no year has.
    #[test]
    fn impossible_rules_are_refused() {
        for text in
            ["02-30", "13-01", "february 30", "31st of april", "sixth monday of may", "third mon of may"]
        {
            assert!(DateRule::try_from(text.to_owned()).is_err(), "{text}");
        }
    }
}
