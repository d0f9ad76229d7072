//! Holiday sets as data: one file, one named set of days off.
//!
//! A file gives rules (`[[holiday]]`), what becomes of a holiday on a weekend (`observed`), single
//! days off (`[[closure]]`) and single weekend days that are worked (`[[workday]]`); a set holds the
//! days that follow for the years that the file vouches for. It leaves business-day arithmetic to
//! [`crate::Calendar`]. Invariant: one row per date, whatever is listed twice or observed from the
//! year after.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{
    ToSpan,
    civil::{Date, Weekday},
};
use plimsoll_toml::{Fault, meant, read};
use serde::Deserialize;

use crate::{
    CalendarError,
    date_rule::{DateRule, weekday_named},
};

/// Where a set's rules were read.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetSource {
    /// Title of the law, circular or page.
    pub title: String,
    /// Address, where it has one.
    pub url: Option<String>,
    /// Day on which it was read; a calendar file does not tell.
    pub read_on: Option<Date>,
}

/// The days off of one named calendar, over the years that its file vouches for.
#[derive(Debug, Clone)]
pub struct HolidaySet {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) source: SetSource,
    pub(crate) zone: Option<String>,
    pub(crate) valid_from: Date,
    pub(crate) valid_through: Date,
    pub(crate) weekend: BTreeSet<i8>,
    pub(crate) days_off: BTreeMap<Date, String>,
    pub(crate) worked: BTreeMap<Date, String>,
}

impl HolidaySet {
    /// Reads a set; `file` is only how messages call it.
    ///
    /// # Errors
    /// Line, field and remedy where the text is no holiday set.
    pub fn read(file: &str, text: &str) -> Result<Self, Fault> {
        let raw: SetFile = read(file, text)?;
        if raw.valid_through < raw.valid_from {
            let message = format!("is {}, before valid_from", raw.valid_through);
            return Err(Fault::new(file, message).field("valid_through"));
        }
        let weekend: BTreeSet<i8> = raw.weekend.iter().map(|day| day.0.to_monday_one_offset()).collect();
        let mut days_off = days_off(&raw, &weekend);
        for closure in raw.closure {
            days_off.entry(closure.date).or_insert(closure.name);
        }
        days_off.retain(|day, _| (raw.valid_from..=raw.valid_through).contains(day));
        let worked = raw.workday.into_iter().map(|day| (day.date, day.name)).collect();
        Ok(Self {
            name: raw.name,
            title: raw.title,
            source: raw.source,
            zone: raw.zone,
            valid_from: raw.valid_from,
            valid_through: raw.valid_through,
            weekend,
            days_off,
            worked,
        })
    }

    /// The set called `name` among `files` (name and text); of two sets with one name the later counts,
    /// so a user's folder comes last.
    ///
    /// # Errors
    /// A file that cannot be read, a name that no file has.
    pub fn named<N: AsRef<str>, T: AsRef<str>>(
        files: impl IntoIterator<Item = (N, T)>,
        name: &str,
    ) -> Result<Self, CalendarError> {
        let mut sets = Vec::new();
        for (file, text) in files {
            sets.push(Self::read(file.as_ref(), text.as_ref())?);
        }
        let known: Vec<String> = sets.iter().map(|set| format!("`{}`", set.name)).collect();
        let suggestion = meant(name, sets.iter().map(|set| set.name.as_str()));
        sets.into_iter().rev().find(|set| set.name == name).ok_or_else(|| CalendarError::NoSuchSet {
            name: name.to_owned(),
            known: if known.is_empty() { "none".to_owned() } else { known.join(", ") },
            suggestion,
        })
    }

    /// Name that a plan spec uses, for example `US-federal`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// IANA name of the zone in which its days are meant, where it has one.
    pub fn zone(&self) -> Option<&str> {
        self.zone.as_deref()
    }
}

/// The days that the rules give, by date, a year on either side of those that are valid: New Year's Day
/// may be observed in the year before.
fn days_off(raw: &SetFile, weekend: &BTreeSet<i8>) -> BTreeMap<Date, String> {
    let mut falls: Vec<(Date, &Holiday)> = Vec::new();
    for holiday in &raw.holiday {
        for year in raw.valid_from.year() - 1..=raw.valid_through.year() + 1 {
            falls.extend(
                holiday.on.in_year(year).filter(|_| holiday.holds_in(year)).map(|day| (day, holiday)),
            );
        }
    }
    falls.sort_by_key(|(day, _)| *day);
    let on: BTreeSet<Date> = falls.iter().map(|(day, _)| *day).collect();
    let mut days: BTreeMap<Date, String> = BTreeMap::new();
    for (day, holiday) in falls {
        let observance = holiday.observed.unwrap_or(raw.observed);
        let is_free = |day: Date| {
            !weekend.contains(&day.weekday().to_monday_one_offset())
                && !on.contains(&day)
                && !days.contains_key(&day)
        };
        let observed = observance.of(day, is_free);
        let name = match observed == day {
            true => holiday.name.clone(),
            false => format!("{} (observed)", holiday.name),
        };
        days.entry(observed).or_insert(name);
    }
    days
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SetFile {
    name: String,
    title: String,
    source: SetSource,
    zone: Option<String>,
    valid_from: Date,
    valid_through: Date,
    weekend: Vec<DayName>,
    #[serde(default)]
    observed: Observed,
    #[serde(default)]
    holiday: Vec<Holiday>,
    #[serde(default)]
    closure: Vec<NamedDay>,
    #[serde(default)]
    workday: Vec<NamedDay>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Holiday {
    name: String,
    on: DateRule,
    /// First year that has it.
    since: Option<i16>,
    /// Last year that has it.
    until: Option<i16>,
    /// Years in which it was moved or left out.
    #[serde(default)]
    not_in: Vec<i16>,
    /// Where it differs from the set's.
    observed: Option<Observed>,
}

impl Holiday {
    fn holds_in(&self, year: i16) -> bool {
        self.since.is_none_or(|since| year >= since)
            && self.until.is_none_or(|until| year <= until)
            && !self.not_in.contains(&year)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedDay {
    name: String,
    date: Date,
}

/// What becomes of a holiday on a Saturday or a Sunday.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Observed {
    #[serde(default)]
    saturday: Moves,
    #[serde(default)]
    sunday: Moves,
}

/// Where a holiday on a weekend moves.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "MovesText")]
enum Moves {
    /// By so many days; 0 leaves it there.
    By(i8),
    /// To the next day that is neither of the weekend nor a holiday (United Kingdom, Japan).
    NextFree,
}

impl Default for Moves {
    fn default() -> Self {
        Self::By(0)
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum MovesText {
    Days(i8),
    Words(String),
}

impl TryFrom<MovesText> for Moves {
    type Error = String;

    fn try_from(text: MovesText) -> Result<Self, String> {
        match text {
            MovesText::Days(days @ -6..=6) => Ok(Self::By(days)),
            MovesText::Days(days) => Err(format!("{days} days is too far; write -6 to 6")),
            MovesText::Words(words) if words == "next free day" => Ok(Self::NextFree),
            MovesText::Words(words) => {
                Err(format!("cannot read `{words}`; write a number of days, or `next free day`"))
            }
        }
    }
}

impl Observed {
    fn of(self, day: Date, is_free: impl Fn(Date) -> bool) -> Date {
        let moves = match day.weekday() {
            Weekday::Saturday => self.saturday,
            Weekday::Sunday => self.sunday,
            _ => Moves::By(0),
        };
        match moves {
            Moves::By(days) => day.saturating_add(i64::from(days).days()),
            Moves::NextFree => day.series(1.day()).take(30).find(|day| is_free(*day)).unwrap_or(day),
        }
    }
}

#[derive(Deserialize)]
#[serde(try_from = "String")]
struct DayName(Weekday);

impl TryFrom<String> for DayName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        weekday_named(&text)
            .map(Self)
            .ok_or_else(|| format!("`{text}` is no weekday; write `saturday`, `sunday` and so on"))
    }
}
