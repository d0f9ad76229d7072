//! Business days, holidays and recurring events, in one time zone.
//!
//! A [`HolidaySet`] is data (`schemas/calendars/*.toml`); a [`Calendar`] is a set in a time zone and
//! answers what a business day is; a [`Rule`] is one line of a plan spec ("last 3 business days of
//! month, 09:00-18:00") and gives [`Occurrence`]s. Recurrence is expanded on local dates alone and
//! only then placed in the zone, so daylight saving time cannot shift or double a day.
//!
//! Pure: texts in, dates out; no clock, no files. Outside the years that a set is known for, the
//! answer is [`CalendarError::Unknown`], never a guess.

mod calendar;
mod date_rule;
mod error;
mod grammar;
mod holidays;
mod occurrence;
mod period;
mod rule;

pub use calendar::Calendar;
pub use error::CalendarError;
pub use holidays::{HolidaySet, SetSource};
pub use occurrence::{Occurrence, whole};
pub use period::Period;
pub use rule::Rule;
