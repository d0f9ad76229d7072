//! A rule said back in words, as it was understood.
//!
//! Invariant: everything that changes when an event takes place is in the sentence.

use std::fmt::{Display, Formatter, Result};

use crate::{
    Period,
    clause::{Clause, Hours},
    date_rule::{Anchor, DateRule, month_name},
    days::Days,
};

impl Display for Clause {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        write!(out, "{}", self.days)?;
        if let Some(roll) = self.roll {
            write!(out, ", {roll}")?;
        }
        if let Some(since) = self.since {
            write!(out, ", since {since}")?;
        }
        if let Some(until) = self.until {
            write!(out, ", until {until}")?;
        }
        match self.hours {
            Some(hours) => write!(out, ", {hours}")?,
            None => out.write_str(", the whole day")?,
        }
        match self.zone.as_ref().and_then(|zone| zone.iana_name()) {
            Some(zone) => write!(out, " in {zone}"),
            None => Ok(()),
        }
    }
}

impl Display for Hours {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        write!(out, "from {}", self.start.strftime("%H:%M"))?;
        match self.end {
            Some(end) if end > self.start => write!(out, " to {}", end.strftime("%H:%M")),
            Some(end) => write!(out, " to {} of the next day", end.strftime("%H:%M")),
            None => out.write_str(" to the end of the day"),
        }
    }
}

impl Display for Days {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        match self {
            Self::First { count: 1, period } => write!(out, "the first business day of {}", each(*period)),
            Self::First { count, period } => {
                write!(out, "the first {count} business days of {}", each(*period))
            }
            Self::Last { count: 1, period } => write!(out, "the last business day of {}", each(*period)),
            Self::Last { count, period } => {
                write!(out, "the last {count} business days of {}", each(*period))
            }
            Self::Nth { nth, period } => write!(out, "{} of {}", counted(*nth), each(*period)),
            Self::Around { from, to, period } if *from < 0 && *to > 0 => write!(
                out,
                "business days from {} of {} to {} of the one after",
                counted(*from),
                each(*period),
                counted(*to)
            ),
            Self::Around { from, to, period } => {
                write!(out, "business days from {} to {} of {}", counted(*from), counted(*to), each(*period))
            }
            Self::Edge { last, period } => {
                write!(out, "the {} day of {}", if *last { "last" } else { "first" }, each(*period))
            }
            Self::Business => out.write_str("every business day"),
            Self::Weekdays => out.write_str("Monday to Friday, holidays too"),
            Self::Daily => out.write_str("every day"),
            Self::Weekly(weekdays) => {
                let names: Vec<String> = weekdays.iter().map(|day| format!("{day:?}")).collect();
                write!(out, "every {}", names.join(" and "))
            }
            Self::EveryWeeks { weeks, from } => {
                write!(out, "{:?} every {weeks} weeks from {from}", from.weekday())
            }
            Self::Yearly(rules) => yearly(rules, out),
            Self::YearlyRun { first, last } => write!(out, "{first} through {last} of each year"),
            Self::Dates { first, last } if first == last => write!(out, "{first}"),
            Self::Dates { first, last } => write!(out, "{first} through {last}"),
        }
    }
}

/// `day 15 of each month`, `the third Friday of March, June`: rules of one text differ in their month.
fn yearly(rules: &[DateRule], out: &mut Formatter<'_>) -> Result {
    let month = |rule: &DateRule| match rule.anchor {
        Anchor::Fixed { month, .. } | Anchor::Weekday { month, .. } => Some(month),
        Anchor::Easter => None,
    };
    let (Some(first), months) = (rules.first(), rules.iter().filter_map(month).collect::<Vec<i8>>()) else {
        return Ok(());
    };
    out.write_str(&moved(first.offset))?;
    match first.anchor {
        Anchor::Fixed { day, .. } => write!(out, "day {day} of ")?,
        Anchor::Weekday { nth, weekday, .. } => write!(out, "the {} {weekday:?} of ", ordinal(nth))?,
        Anchor::Easter => return out.write_str("Easter Sunday"),
    }
    match months.len() {
        12 => out.write_str("each month"),
        // The months that have such a day, of all: 29 February is always one of them.
        7 | 11 if matches!(first.anchor, Anchor::Fixed { day: 30.., .. }) => {
            out.write_str("each month that has one")
        }
        _ => out.write_str(&months.into_iter().map(month_name).collect::<Vec<_>>().join(", ")),
    }
}

impl Display for DateRule {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        out.write_str(&moved(self.offset))?;
        match self.anchor {
            Anchor::Fixed { month, day } => write!(out, "{day} {}", month_name(month)),
            Anchor::Weekday { nth, weekday, month } => {
                write!(out, "the {} {weekday:?} of {}", ordinal(nth), month_name(month))
            }
            Anchor::Easter => out.write_str("Easter Sunday"),
        }
    }
}

/// `4 days after `, or nothing.
fn moved(days: i16) -> String {
    match days {
        0 => String::new(),
        1 => "the day after ".to_owned(),
        -1 => "the day before ".to_owned(),
        days if days > 0 => format!("{days} days after "),
        days => format!("{} days before ", -days),
    }
}

fn ordinal(nth: i8) -> &'static str {
    match nth {
        1 => "first",
        2 => "second",
        3 => "third",
        4 => "fourth",
        5 => "fifth",
        _ => "last",
    }
}

/// `each month`, `each fiscal quarter (a year from October)`.
fn each(period: Period) -> String {
    match period.fiscal() {
        Some(fiscal) => format!("each {period} ({fiscal})"),
        None => format!("each {period}"),
    }
}

/// `business day 2`, `business day 3 from the end`.
fn counted(nth: i16) -> String {
    match nth {
        -1 => "the last business day".to_owned(),
        1 => "the first business day".to_owned(),
        nth if nth < 0 => format!("business day {} from the end", -nth),
        nth => format!("business day {nth}"),
    }
}
