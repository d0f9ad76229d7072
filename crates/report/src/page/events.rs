//! Events ahead, one line each: when the next occurrence is, and the days of those after it.
//!
//! The invariant: events stand in the order of their next occurrence, and what is not listed is counted.

use plimsoll_plan::{EventPlan, Plan};
use serde::Serialize;

use crate::{
    format::{count, day_year},
    local::Local,
};

/// Most later days that are listed.
const MOST: usize = 6;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct EventAhead {
    /// Its name.
    pub(crate) event: String,
    /// Start of the next occurrence, or of the one that is under way.
    pub(crate) from: String,
    /// Its end; the clock alone where that is on the same day.
    pub(crate) to: String,
    /// The days of those after it.
    pub(crate) then: String,
    /// Past occurrences that were measured.
    pub(crate) occurrences: u32,
}

pub(super) fn list(plan: &Plan, local: &Local) -> Vec<EventAhead> {
    let mut seen: Vec<(&str, Vec<&EventPlan>)> = Vec::new();
    for occurrence in &plan.events {
        match seen.iter_mut().find(|(event, _)| *event == occurrence.event) {
            Some((_, all)) => all.push(occurrence),
            None => seen.push((&occurrence.event, vec![occurrence])),
        }
    }
    seen.into_iter().filter_map(|(event, all)| ahead(event, &all, local)).collect()
}

fn ahead(event: &str, all: &[&EventPlan], local: &Local) -> Option<EventAhead> {
    let (next, later) = all.split_first()?;
    let mut days: Vec<String> = later.iter().take(MOST).map(|e| day_year(local.day(e.start))).collect();
    if later.len() > MOST {
        days.push(count((later.len() - MOST) as u64, "more", "more"));
    }
    let same_day = local.day(next.start) == local.day(next.end);
    Some(EventAhead {
        event: event.to_owned(),
        from: local.moment(next.start),
        to: if same_day { local.clock(next.end) } else { local.moment(next.end) },
        then: days.join(", "),
        occurrences: next.occurrences,
    })
}
