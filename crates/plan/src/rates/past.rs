//! What a workflow did inside the past occurrences of an event: which counted, and how long runs took.
//!
//! The invariant: runs that a throttle stretched never make a plan smaller.

use crate::context::mean;
use crate::quantity::Quantity;
use crate::{OccurrenceMeasured, Stat, WorkflowMeasured};

const MINUTE_US: u64 = 60_000_000;

/// Past occurrences of an event in which the workflow ran.
pub(crate) fn occurrences<'w>(
    workflow: &'w WorkflowMeasured,
    event: &str,
) -> impl Iterator<Item = &'w OccurrenceMeasured> {
    workflow.occurrences.iter().filter(move |occurrence| occurrence.event == event && occurrence.runs > 0)
}

/// Mean minutes of a run without its waits for limits: the event's own where measured. Who waits for a limit is
/// in flight all the same, but runs do not start more seldom for it. Runs that had to begin again are longer too,
/// so where the event was throttled the shorter of the two means counts.
pub(crate) fn run_minutes(workflow: &WorkflowMeasured, event: &str) -> Option<(Quantity, String)> {
    let told = |stat: &Stat, whose: &str| {
        let minutes = mean(stat)?.over(&MINUTE_US.into()).filter(|minutes| !minutes.is_zero())?;
        Some((minutes, format!("n = {} {whose}", stat.n)))
    };
    let all = workflow.metrics.get("unthrottled_ms").or_else(|| workflow.metrics.get("duration_ms"));
    let all = all.and_then(|stat| told(stat, "runs of the history"));
    let own = workflow.event_duration.get(event).and_then(|stat| told(stat, "runs of its past occurrences"));
    let throttled = occurrences(workflow, event).any(|occurrence| occurrence.throttled_attempts > 0);
    match (own, all) {
        (Some(own), Some(all)) if throttled && all.0 < own.0 => {
            Some((all.0, format!("{}, since past occurrences were throttled", all.1)))
        }
        (own, all) => own.or(all),
    }
}
