//! When the calendar's events took place and will: what a profile must measure apart.
//!
//! Pure dates; whoever measures fills [`crate::OccurrenceMeasured`] from them. The invariant: the
//! windows of one close (three days of one month-end, say) are one occurrence, never three.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use plimsoll_calendar::{Calendar, Rule};

use crate::context::PlanError;
use crate::overlap::refuse_overlaps;
use crate::spec::{EventRate, EventSpec, Span, Spec};

/// The history that profiles are made from, and the events around `as_of`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Windows {
    /// First instant of the history, and the first after it (`as_of`).
    pub history: (Timestamp, Timestamp),
    /// Start of the local month of `as_of`.
    pub month: Timestamp,
    /// Occurrences that have ended, within `event_history`, earliest first.
    pub past: Vec<EventWindows>,
    /// Occurrences that are not over, within `horizon`, earliest first. One that has begun keeps the
    /// windows that are left of it.
    pub coming: Vec<EventWindows>,
}

/// One occurrence of one event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventWindows {
    /// Name of the event in the spec.
    pub event: String,
    /// The period that it belongs to, for example `2026-11`.
    pub occurrence: String,
    /// Half-open windows, earliest first; never empty.
    pub windows: Vec<(Timestamp, Timestamp)>,
    /// What it does to each workflow.
    pub workflows: BTreeMap<String, EventRate>,
    /// Events that it takes the place of.
    pub over: Vec<String>,
}

impl EventWindows {
    /// Start of the first window.
    #[must_use]
    pub fn start(&self) -> Timestamp {
        self.windows.first().map_or(Timestamp::MIN, |window| window.0)
    }

    /// End of the last window.
    #[must_use]
    pub fn end(&self) -> Timestamp {
        self.windows.last().map_or(Timestamp::MIN, |window| window.1)
    }

    /// Whether an instant lies in one of its windows.
    #[must_use]
    pub fn contains(&self, at: Timestamp) -> bool {
        self.windows.iter().any(|(start, end)| *start <= at && at < *end)
    }

    /// Whether it moves any of some workflows.
    pub(crate) fn moves(&self, workflows: &BTreeSet<&str>) -> bool {
        self.workflows.keys().any(|workflow| workflows.contains(workflow.as_str()))
    }

    /// Whether the other event takes this one's place where both hold.
    #[must_use]
    pub fn gives_way_to(&self, other: &Self) -> bool {
        other.over.contains(&self.event)
    }
}

/// The windows to measure and to plan for, as of an instant.
///
/// # Errors
/// [`PlanError`] for a rule that cannot be read, days that the holiday set does not know, or events that
/// move one workflow at the same time.
pub fn windows(spec: &Spec, calendar: &Calendar, as_of: Timestamp) -> Result<Windows, PlanError> {
    let policy = &spec.policy;
    let month = calendar.start_of_day(calendar.local_date(as_of).first_of_month())?;
    let mut found = Windows { history: (back(as_of, policy.history)?, as_of), month, ..Windows::default() };
    let (from, to) = (back(as_of, policy.event_history)?, as_of.checked_add(policy.horizon.duration())?);
    for event in &spec.events {
        for occurrence in occurrences(event, calendar, from, to)? {
            if occurrence.end() <= as_of {
                found.past.push(occurrence);
            } else {
                let mut coming = occurrence;
                coming.windows.retain(|(_, end)| *end > as_of);
                found.coming.push(coming);
            }
        }
    }
    found.past.sort_by_key(EventWindows::start);
    found.coming.sort_by_key(EventWindows::start);
    refuse_overlaps(spec, &found.coming, calendar)?;
    Ok(found)
}

fn back(from: Timestamp, by: Span) -> Result<Timestamp, PlanError> {
    Ok(from.checked_sub(by.duration())?)
}

/// Occurrences of one event whose first window starts in `from..to`.
fn occurrences(
    event: &EventSpec,
    calendar: &Calendar,
    from: Timestamp,
    to: Timestamp,
) -> Result<Vec<EventWindows>, PlanError> {
    let mut by_id: BTreeMap<String, Vec<(Timestamp, Timestamp)>> = BTreeMap::new();
    for window in Rule::parse(&event.when)?.occurrences(calendar, from, to)? {
        by_id.entry(window.id).or_default().push((window.start, window.end));
    }
    let occurrence = |(occurrence, windows)| EventWindows {
        event: event.name.clone(),
        occurrence,
        windows,
        workflows: event.workflows.clone(),
        over: event.over.clone(),
    };
    Ok(by_id.into_iter().map(occurrence).filter(|occurrence| occurrence.start() >= from).collect())
}
