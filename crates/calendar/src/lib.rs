//! Business days, holidays and recurring events, in one time zone.
#![doc = include_str!("../GRAMMAR.md")]

mod calendar;
mod clause;
mod date_rule;
mod days;
mod error;
mod fiscal;
mod grammar;
mod grammar_days;
mod holidays;
mod ics;
mod occurrence;
mod period;
mod recurrence;
mod roll;
mod rule;
mod said;

pub use calendar::Calendar;
pub use error::CalendarError;
pub use fiscal::{Fiscal, YearEnd};
pub use holidays::{HolidaySet, SetSource};
pub use ics::{Feed, Series};
pub use occurrence::{Occurrence, whole};
pub use period::Period;
pub use roll::Roll;
pub use rule::Rule;
