//! Events of the business calendar: a rule in words, a recurrence rule, or a calendar file.
//!
//! What a text means is in `grammar` and [`crate::ics`]; here it becomes windows. Invariants: days are
//! found on local dates alone and placed in a zone afterwards; windows come in order of start.

use std::fmt;

use jiff::{Timestamp, civil::DateTime};

use crate::{
    Calendar, CalendarError, Feed, Occurrence, Series,
    clause::Clause,
    grammar,
    ics::{is_inline, read_inline},
};

/// A recurring (or single) event of the business calendar. Made from text by [`Rule::parse`].
#[derive(Debug, Clone)]
pub struct Rule {
    text: String,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    /// Rules in words; the event takes place when any of them does.
    Words(Vec<Clause>),
    /// A recurrence rule.
    Series(Box<Series>),
    /// A calendar file, and the name of one of its events.
    File { path: String, name: Option<String> },
}

impl Rule {
    /// Reads a rule, for example `last 3 business days of month, 09:00-18:00`. Case and spacing do not
    /// matter. The whole language is in the [crate's documentation](crate#rules).
    ///
    /// # Errors
    /// [`CalendarError::Rule`], which says what is understood.
    pub fn parse(text: &str) -> Result<Self, CalendarError> {
        let wrong = |why| CalendarError::Rule { text: text.trim().to_owned(), why };
        let kind = if is_inline(text) {
            Kind::Series(Box::new(read_inline(text).map_err(wrong)?))
        } else if let Some((path, name)) = file(text.trim()) {
            Kind::File { path: path.to_owned(), name: name.map(str::to_owned) }
        } else {
            Kind::Words(grammar::parse(text).map_err(wrong)?)
        };
        Ok(Self { text: text.trim().to_owned(), kind })
    }

    /// The calendar file that it names, which [`Calendar::with_feed`] must be handed under this path.
    pub fn file(&self) -> Option<&str> {
        match &self.kind {
            Kind::File { path, .. } => Some(path),
            Kind::Words(_) | Kind::Series(_) => None,
        }
    }

    /// Windows that overlap `from..to` (half-open), in order of start. A window is given whole even
    /// where it begins before `from` or ends after `to`. Hours that daylight saving time skips on a
    /// day leave no window there.
    ///
    /// # Errors
    /// [`CalendarError::Unknown`] where the rule needs business days outside the calendar's valid
    /// years, [`CalendarError::Skipped`] for a single event at an hour that clocks skip,
    /// [`CalendarError::NoSuchFeed`] and [`CalendarError::NoSuchEvent`] for a calendar file that the
    /// calendar does not have, [`CalendarError::Range`] at the ends of time.
    pub fn occurrences(
        &self,
        calendar: &Calendar,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<Occurrence>, CalendarError> {
        if from >= to {
            return Ok(Vec::new());
        }
        match &self.kind {
            Kind::Words(clauses) => {
                let mut windows = Vec::new();
                for clause in clauses {
                    windows.extend(clause.occurrences(calendar, from, to)?);
                }
                windows.sort_by(|one, other| (one.start, one.end).cmp(&(other.start, other.end)));
                windows.dedup_by(|one, other| (one.start, one.end) == (other.start, other.end));
                Ok(windows)
            }
            Kind::Series(series) => series.occurrences(calendar, from, to),
            Kind::File { path, name } => {
                feed(calendar, path)?.occurrences(calendar, name.as_deref(), from, to)
            }
        }
    }

    /// Local times within `from..to` at which it should begin, and which daylight saving time skips: a
    /// window begins after the gap there, or is missing.
    ///
    /// # Errors
    /// As [`Rule::occurrences`].
    pub fn skipped(
        &self,
        calendar: &Calendar,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Vec<DateTime>, CalendarError> {
        let mut found = Vec::new();
        match &self.kind {
            Kind::Words(clauses) => {
                for clause in clauses {
                    found.extend(clause.skipped(calendar, from, to)?);
                }
            }
            Kind::Series(series) => found.extend(series.skipped(calendar, from, to)?),
            Kind::File { path, name } => {
                for series in feed(calendar, path)?.select(name.as_deref()) {
                    found.extend(series.skipped(calendar, from, to)?);
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// The rule in words, as it was understood.
    pub fn said(&self) -> String {
        match &self.kind {
            Kind::Words(clauses) => {
                let all: Vec<String> = clauses.iter().map(ToString::to_string).collect();
                all.join("; and ")
            }
            Kind::Series(series) => series.said(),
            Kind::File { path, name: None } => format!("every event of {path}"),
            Kind::File { path, name: Some(name) } => format!("the events `{name}` of {path}"),
        }
    }
}

fn feed<'a>(calendar: &'a Calendar, path: &str) -> Result<&'a Feed, CalendarError> {
    calendar.feed(path).ok_or_else(|| CalendarError::NoSuchFeed { file: path.to_owned() })
}

/// `close.ics`, `close.ics#Quarter close` -> path and name.
fn file(text: &str) -> Option<(&str, Option<&str>)> {
    let (path, name) = match text.split_once(".ics#") {
        Some((path, name)) => (text.get(..path.len() + 4)?, Some(name.trim())),
        None => (text, None),
    };
    path.to_ascii_lowercase().ends_with(".ics").then_some((path, name))
}

impl fmt::Display for Rule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}
