//! When a holiday falls: `06-19`, `third monday of january`, `last monday of may`.
//!
//! Leaves observance (what a holiday on a weekend becomes) to the set. Invariant: at most one day a
//! year.

use jiff::civil::{Date, Weekday};

/// A day of every year.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(try_from = "String")]
pub(crate) enum DateRule {
    /// The same day each year.
    Fixed { month: i8, day: i8 },
    /// The nth such weekday of a month; -1 is the last.
    Weekday { nth: i8, weekday: Weekday, month: i8 },
}

impl DateRule {
    /// Its day in `year`; none where the year has no such day (29 February, a fifth Monday).
    pub(crate) fn in_year(self, year: i16) -> Option<Date> {
        match self {
            Self::Fixed { month, day } => Date::new(year, month, day).ok(),
            Self::Weekday { nth, weekday, month } => {
                Date::new(year, month, 1).ok()?.nth_weekday_of_month(nth, weekday).ok()
            }
        }
    }
}

impl TryFrom<String> for DateRule {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let lower = text.to_lowercase();
        let words: Vec<&str> = lower.split_whitespace().collect();
        let rule = match words.as_slice() {
            [day] => fixed(day),
            [nth, weekday, "of", month] => (|| {
                Some(Self::Weekday {
                    nth: ordinal(nth)?,
                    weekday: weekday_named(weekday)?,
                    month: month_named(month)?,
                })
            })(),
            _ => None,
        };
        rule.ok_or_else(|| {
            format!("cannot read `{text}`; write a day such as `06-19`, or `third monday of january`, `last monday of may`")
        })
    }
}

fn fixed(text: &str) -> Option<DateRule> {
    let (month, day) = text.split_once('-')?;
    let (month, day) = (month.parse().ok()?, day.parse().ok()?);
    // A leap year, so that 02-29 may be a rule.
    Date::new(2000, month, day).ok()?;
    Some(DateRule::Fixed { month, day })
}

fn ordinal(word: &str) -> Option<i8> {
    Some(match word {
        "first" => 1,
        "second" => 2,
        "third" => 3,
        "fourth" => 4,
        "fifth" => 5,
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

fn month_named(word: &str) -> Option<i8> {
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
    (1..).zip(MONTHS).find(|(_, name)| *name == word).map(|(month, _)| month)
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    /// Protects both spellings of a rule against their known days (G21: the fourth Thursday of
    /// November 2028 is the 23rd, not the 30th).
    #[test]
    fn rules_fall_on_their_known_days() {
        let day = |text: &str, year| DateRule::try_from(text.to_owned()).ok()?.in_year(year);
        assert_eq!(day("06-19", 2026), Some(date(2026, 6, 19)));
        assert_eq!(day("fourth thursday of november", 2028), Some(date(2028, 11, 23)));
        assert_eq!(day("last monday of may", 2026), Some(date(2026, 5, 25)));
        assert_eq!(day("02-29", 2027), None);
    }

    /// Protects the refusal of days that no year has.
    #[test]
    fn impossible_rules_are_refused() {
        for text in ["02-30", "13-01", "sixth monday of may", "third mon of may", "easter"] {
            assert!(DateRule::try_from(text.to_owned()).is_err(), "{text}");
        }
    }
}
