//! iCalendar files (RFC 5545) as Google, Outlook and Apple write them.
//!
//! `content` makes a tree of components from bytes, `zones` finds the zone that a `TZID` means,
//! `event` reads one `VEVENT`, `series` is an event with its exceptions and gives occurrences, and
//! [`Feed`] is a file of them. The lines are read here and not by a library since a mistake must be
//! answered with its line, and folding may split a character. Invariant: a time whose zone cannot be
//! told is refused, never taken for UTC.

mod content;
mod event;
mod feed;
mod holidays;
mod inline;
mod moment;
mod said;
mod series;
mod zone_rules;
mod zones;

pub use feed::Feed;
pub use series::Series;

pub(crate) use inline::{is_inline, read_inline};
pub(crate) use moment::{Written, read_written};
