//! Business days, holidays and recurring events, in one time zone.
//!
//! A [`HolidaySet`] is data (`schemas/calendars/*.toml`, a file of one's own, or an iCalendar file); a
//! [`Calendar`] is a set in a time zone and answers what a business day is; a [`Rule`] is one line of a
//! plan spec and gives [`Occurrence`]s; a [`Feed`] is an iCalendar file. Pure: texts and bytes in, dates
//! out; no clock, no files.
//!
//! # Business days
//!
//! A "business day" always means one of a named calendar: on the last of December 2021 federal offices of
//! the United States observed New Year's Day of 2022, a Saturday (5 USC 6103), while the exchange was
//! open, since NYSE Rule 7.2 observes no Friday that ends a year.
//!
//! ```
//! use jiff::civil::date;
//! use plimsoll_calendar::{Calendar, CalendarError, Period};
//!
//! let files = [
//!     ("us-federal.toml", include_str!("../../../schemas/calendars/us-federal.toml")),
//!     ("nyse.toml", include_str!("../../../schemas/calendars/nyse.toml")),
//!     ("uk.toml", include_str!("../../../schemas/calendars/uk.toml")),
//! ];
//! let december = date(2021, 12, 1);
//! let federal = Calendar::named(files, "US-federal", "America/New_York")?;
//! assert_eq!(federal.last_business_day(december, Period::Month)?, date(2021, 12, 30));
//! let nyse = Calendar::named(files, "NYSE", "America/New_York")?;
//! assert_eq!(nyse.last_business_day(december, Period::Month)?, date(2021, 12, 31));
//!
//! // A substitute is the next day that is neither weekend nor holiday: Christmas Day of 2022 was a Sunday
//! // and Boxing Day a Monday, so the substitute fell on Tuesday.
//! let uk = Calendar::named(files, "UK", "Europe/London")?;
//! assert!(!uk.is_business_day(date(2022, 12, 27))?);
//!
//! // Beyond what its source vouches for a calendar does not know.
//! assert!(matches!(nyse.is_business_day(date(2031, 1, 2)), Err(CalendarError::Unknown { .. })));
//! # Ok::<(), CalendarError>(())
//! ```
//!
//! # Recurrence and clocks
//!
//! Recurrence is expanded on local dates alone and only then placed in the zone, so that daylight saving
//! time cannot shift or double a day. A local day has 23, 24 or 25 hours. What a rule puts into the hour
//! that clocks skip is left out (RFC 5545, 3.3.10); a single event there is refused.
//!
//! ```
//! use jiff::civil::date;
//! use plimsoll_calendar::{Calendar, CalendarError, Rule};
//!
//! let files = [("weekdays.toml", include_str!("../../../schemas/calendars/weekdays.toml"))];
//! let calendar = Calendar::named(files, "weekdays", "America/New_York")?;
//! assert_eq!(calendar.day_length(date(2026, 3, 8))?.as_hours(), 23);
//! let from = calendar.start_of_day(date(2026, 3, 7))?;
//! let to = calendar.start_of_day(date(2026, 3, 10))?;
//!
//! let nightly = Rule::parse("DTSTART:20260101 RRULE:FREQ=DAILY 02:30-02:45")?;
//! let days: Vec<String> = nightly.occurrences(&calendar, from, to)?.into_iter().map(|one| one.id).collect();
//! assert_eq!(days, ["2026-03-07", "2026-03-09"]);
//! let single = Rule::parse("2026-03-08 02:30-02:45")?;
//! assert!(matches!(single.occurrences(&calendar, from, to), Err(CalendarError::Skipped { .. })));
//!
//! // The 31st of each month skips the short months (RFC 5545, 3.3.10): "last day of month" does not.
//! let year = (calendar.start_of_day(date(2026, 1, 1))?, calendar.start_of_day(date(2027, 1, 1))?);
//! let count = |text: &str| Ok::<_, CalendarError>(Rule::parse(text)?.occurrences(&calendar, year.0, year.1)?.len());
//! assert_eq!((count("31st of month")?, count("last day of month")?), (7, 12));
//!
//! // What never happens is told at once.
//! let never = Rule::parse("february 30").map_err(|error| error.to_string());
//! assert!(never.is_err_and(|said| said.ends_with("it never happens: February has no day 30")));
//! # Ok::<(), CalendarError>(())
//! ```
//!
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
