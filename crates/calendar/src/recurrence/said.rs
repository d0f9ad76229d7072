//! A recurrence rule said back in words.
//!
//! Invariant: every part of the rule is in the sentence.

use std::fmt::{Display, Formatter, Result};

use super::rule::{Frequency, Recurrence, Until};
use crate::date_rule::month_name;

impl Display for Recurrence {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        let unit = match self.frequency {
            Frequency::Daily => "day",
            Frequency::Weekly => "week",
            Frequency::Monthly => "month",
            Frequency::Yearly => "year",
        };
        match self.interval {
            1 => write!(out, "every {unit}")?,
            interval => write!(out, "every {interval} {unit}s")?,
        }
        let weekdays: Vec<String> = self
            .weekdays
            .iter()
            .map(|(nth, weekday)| match nth {
                0 => format!("{weekday:?}"),
                nth => format!("the {} {weekday:?}", counted(*nth)),
            })
            .collect();
        let months: Vec<String> =
            self.months.iter().map(|month| month_name(i8::try_from(*month).unwrap_or(0))).collect();
        let numbers = |list: &[i16]| -> Vec<String> { list.iter().map(|number| counted(*number)).collect() };
        let plain = |list: &[i16]| -> Vec<String> { list.iter().map(ToString::to_string).collect() };
        for (before, list, after) in [
            (" on ", weekdays, ""),
            (" on the ", numbers(&self.month_days), " day of the month"),
            (" on the ", numbers(&self.year_days), " day of the year"),
            (" in the ", numbers(&self.week_numbers), " week of the year"),
            (" in ", months, ""),
            (" at hour ", plain(&self.hours), ""),
            (" at minute ", plain(&self.minutes), ""),
            (" at second ", plain(&self.seconds), ""),
            (", of these the ", numbers(&self.positions), ""),
        ] {
            if !list.is_empty() {
                write!(out, "{before}{}{after}", list.join(", "))?;
            }
        }
        if self.week_start != jiff::civil::Weekday::Monday {
            write!(out, ", weeks from {:?}", self.week_start)?;
        }
        match (self.count, self.until) {
            (Some(1), _) => out.write_str(", once"),
            (Some(count), _) => write!(out, ", {count} times"),
            (None, Some(Until::Date(date))) => write!(out, ", through {date}"),
            (None, Some(Until::Local(local))) => write!(out, ", through {local}"),
            (None, Some(Until::Instant(at))) => write!(out, ", through {at}"),
            (None, None) => Ok(()),
        }
    }
}

/// `1st`, `22nd`, `last`, `2nd last`.
fn counted(number: i16) -> String {
    let size = number.unsigned_abs();
    let ending = match (size % 10, size % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    match number {
        -1 => "last".to_owned(),
        number if number < 0 => format!("{size}{ending} last"),
        _ => format!("{size}{ending}"),
    }
}
