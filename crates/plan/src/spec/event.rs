//! `[[event]]`: a named peak of the business calendar, and what it does to which workflow.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::quantity::Quantity;

/// One event.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventSpec {
    /// Name.
    pub name: String,
    /// When, in the rule language of the calendar: `last 3 business days of month, 09:00-18:00`,
    /// `RRULE:FREQ=...`, or the path of an `.ics` file relative to the spec (`close.ics#Quarter close`).
    pub when: String,
    /// What it does to each workflow that it moves.
    pub workflows: BTreeMap<String, EventRate>,
    /// Events that it takes the place of while both hold: a quarter's end over a month's. Two events that
    /// move one workflow at the same time are refused without it.
    #[serde(default)]
    pub over: Vec<String>,
    /// Line on which it starts, from 1.
    #[serde(skip)]
    pub line: usize,
}

/// How fast runs start inside an event. At most one is given; none means "as past occurrences did", shrunk towards what is assumed of events.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EventRate {
    /// Runs inside at once; the rate is this over the mean run length.
    pub in_flight: Option<Quantity>,
    /// Runs started a minute.
    pub runs_per_min: Option<Quantity>,
    /// Times the ordinary rate of that hour of the week, until an occurrence was measured: then that
    /// counts.
    pub multiplier: Option<Quantity>,
}
