//! Why a calendar could not answer.

use jiff::civil::Date;
use plimsoll_toml::Fault;

/// Why a calendar could not answer.
#[derive(Debug, thiserror::Error)]
pub enum CalendarError {
    /// A holiday file is wrong.
    #[error(transparent)]
    File(#[from] Fault),
    /// No file holds a set of that name.
    #[error("there is no holiday set `{name}`; known are {known}{suggestion}")]
    NoSuchSet {
        /// The name asked for.
        name: String,
        /// The names that exist.
        known: String,
        /// `; did you mean ...?`, or nothing.
        suggestion: String,
    },
    /// The zone is not in the IANA database.
    #[error("`{zone}` is no IANA time zone; write one such as `America/New_York` or `UTC`")]
    NoSuchZone {
        /// The name asked for.
        zone: String,
    },
    /// The set says nothing of that day.
    #[error(
        "the {calendar} calendar is known from {from} through {through} only, so {date} may or may \
         not be a business day; bring a newer holiday file or a shorter horizon"
    )]
    Unknown {
        /// Name of the set.
        calendar: String,
        /// The day asked about.
        date: Date,
        /// First day known.
        from: Date,
        /// Last day known.
        through: Date,
    },
    /// A period does not have that business day.
    #[error(
        "there is no business day {nth} in the {period} of {date}: count from 1 at its start or \
         from -1 at its end"
    )]
    NoSuchDay {
        /// The number asked for.
        nth: i32,
        /// month, quarter or year.
        period: crate::Period,
        /// A day of the period.
        date: Date,
    },
    /// The text is no rule.
    #[error("cannot read the event rule `{text}`: {why}; {understood}", understood = crate::grammar::UNDERSTOOD)]
    Rule {
        /// The rule as written.
        text: String,
        /// What is wrong with it.
        why: String,
    },
    /// A single event was put where clocks are moved forward.
    #[error(
        "{local} does not exist in {zone}: clocks skip that hour, so the event never happens; \
         write an hour before or after it"
    )]
    Skipped {
        /// The local time.
        local: jiff::civil::DateTime,
        /// The zone.
        zone: String,
    },
    /// A rule names a calendar file that was not brought.
    #[error("the calendar file `{file}` was not read; its path is relative to the file that names it")]
    NoSuchFeed {
        /// Its path as written.
        file: String,
    },
    /// A calendar file has no such event.
    #[error("{file}: no event is called `{name}`{suggestion}")]
    NoSuchEvent {
        /// The file.
        file: String,
        /// The name asked for.
        name: String,
        /// `; did you mean ...?`, or nothing.
        suggestion: String,
    },
    /// A date or an instant is beyond the years -9999 to 9999.
    #[error("a date leaves the years that can be reckoned with: {0}")]
    Range(#[from] jiff::Error),
}
