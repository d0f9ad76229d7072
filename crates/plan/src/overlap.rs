//! Two events that move one workflow at the same time, and what then holds.
//!
//! Nobody can tell from two rates whether they add up or one takes the other's place, so the spec must say
//! (`over`). The invariant: in a plan that exists, each workflow is moved by one event at any instant.

use std::collections::BTreeMap;

use jiff::Timestamp;
use plimsoll_calendar::Calendar;

use crate::SpecError;
use crate::spec::{EventSpec, FILE, Spec};
use crate::windows::EventWindows;

/// Refuses the first two occurrences that clash, `coming` being sorted by start.
pub(crate) fn refuse_overlaps(
    spec: &Spec,
    coming: &[EventWindows],
    calendar: &Calendar,
) -> Result<(), SpecError> {
    let events: BTreeMap<&str, &EventSpec> =
        spec.events.iter().map(|event| (event.name.as_str(), event)).collect();
    for (index, one) in coming.iter().enumerate() {
        for other in coming.iter().skip(index + 1).take_while(|other| other.start() < one.end()) {
            let both = (events.get(one.event.as_str()), events.get(other.event.as_str()));
            let ((Some(first), Some(second)), Some((workflow, at))) = (both, clash(one, other)) else {
                continue;
            };
            let (first, second) = if first.line <= second.line { (first, second) } else { (second, first) };
            let local = calendar.zone().to_datetime(at).strftime("%Y-%m-%d %H:%M");
            let problem = format!(
                "moves {workflow} at the same time as event `{}` on line {}, first on {local} {}: narrow one of them, or say in one that it takes the other's place (over = [\"...\"])",
                first.name,
                first.line,
                calendar.zone_name(),
            );
            let mut fault = SpecError::new(FILE, problem).field(format!("event `{}`.when", second.name));
            fault.line = Some(second.line);
            return Err(fault);
        }
    }
    Ok(())
}

/// A workflow that both move, and the first instant at which both do; none where one gives way.
fn clash<'w>(one: &'w EventWindows, other: &EventWindows) -> Option<(&'w str, Timestamp)> {
    if one.event == other.event || one.gives_way_to(other) || other.gives_way_to(one) {
        return None;
    }
    let workflow = one.workflows.keys().find(|workflow| other.workflows.contains_key(*workflow))?;
    let meet = |(start, end): &(Timestamp, Timestamp)| {
        let both = other.windows.iter().filter(|(from, to)| from < end && start < to);
        both.map(|(from, _)| *from.max(start)).min()
    };
    Some((workflow, one.windows.iter().filter_map(meet).min()?))
}

/// The events that hold among those that are active at an instant: those to whose workflows no other says
/// that it takes their place.
pub(crate) fn holds(event: &EventWindows, active: &[&EventWindows], workflow: &str) -> bool {
    !active.iter().any(|other| event.gives_way_to(other) && other.workflows.contains_key(workflow))
}
