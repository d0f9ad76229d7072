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
use plimsoll_toml::{Fault, read};
use serde::Deserialize;

use crate::date_rule::{DateRule, weekday_named};

/// Where a set's rules were read.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetSource {
    /// Title of the law, circular or page.
    pub title: String,
    /// Address, where it has one.
    pub url: Option<String>,
    /// Day on which it was read.
    pub read_on: Date,
}

/// The days off of one named calendar, over the years that its file vouches for.
#[derive(Debug, Clone)]
pub struct HolidaySet {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) source: SetSource,
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
        let weekend = raw.weekend.iter().map(|day| day.0.to_monday_one_offset()).collect();
        let mut days_off = BTreeMap::new();
        for holiday in &raw.holiday {
            // A year on either side: New Year's Day may be observed in the year before.
            for year in raw.valid_from.year() - 1..=raw.valid_through.year() + 1 {
                if holiday.holds_in(year)
                    && let Some(day) = holiday.on.in_year(year)
                {
                    let observed = raw.observed.shift(day);
                    let name = match observed == day {
                        true => holiday.name.clone(),
                        false => format!("{} (observed)", holiday.name),
                    };
                    days_off.entry(observed).or_insert(name);
                }
            }
        }
        for closure in raw.closure {
            days_off.entry(closure.date).or_insert(closure.name);
        }
        days_off.retain(|day, _| (raw.valid_from..=raw.valid_through).contains(day));
        let worked = raw.workday.into_iter().map(|day| (day.date, day.name)).collect();
        Ok(Self {
            name: raw.name,
            title: raw.title,
            source: raw.source,
            valid_from: raw.valid_from,
            valid_through: raw.valid_through,
            weekend,
            days_off,
            worked,
        })
    }

    /// Name that a plan spec uses, for example `US-federal`.
    pub fn name(&self) -> &str {
        &self.name
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SetFile {
    name: String,
    title: String,
    source: SetSource,
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
}

impl Holiday {
    fn holds_in(&self, year: i16) -> bool {
        self.since.is_none_or(|since| year >= since) && self.until.is_none_or(|until| year <= until)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedDay {
    name: String,
    date: Date,
}

/// By how many days a holiday moves that falls on a Saturday or a Sunday; 0 leaves it there.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Observed {
    #[serde(default)]
    saturday: i8,
    #[serde(default)]
    sunday: i8,
}

impl Observed {
    fn shift(&self, day: Date) -> Date {
        match day.weekday() {
            Weekday::Saturday => day.saturating_add(i64::from(self.saturday).days()),
            Weekday::Sunday => day.saturating_add(i64::from(self.sunday).days()),
            _ => day,
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
