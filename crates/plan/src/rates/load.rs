//! How fast a workflow starts runs in each hour of an ordinary week, as the history has it.
//!
//! Hours of the workflow's own events are left out, and hours of holidays stand apart. The rate is the
//! mean, since means of workflows add up and a workflow that seldom runs has a median of nothing; the
//! median and the upper hours are kept beside it for people. The invariant: an hour that the history
//! never saw has no rate.

use jiff::{SignedDuration, Timestamp};

use crate::WorkflowMeasured;
use crate::context::Context;
use crate::quantity::Quantity;
use crate::rates::days::{Hours, SLOTS};
use crate::rates::rhythm::hour_floor;
use crate::windows::EventWindows;

const HOUR: SignedDuration = SignedDuration::from_hours(1);

/// Runs started in each hour of the history by slot, ascending within a slot.
#[derive(Debug)]
pub(crate) struct Load(Vec<Vec<u64>>);

/// The whole hours of the history with their slots.
pub(crate) fn hours_of_history(context: &Context<'_>, hours: &Hours) -> Vec<(Timestamp, usize)> {
    let history = &context.measured().history;
    let mut hour = hour_floor(history.first_run.map_or(history.from, |first| first.max(history.from)));
    let mut found = Vec::new();
    while let Ok(next) = hour.checked_add(HOUR)
        && next <= history.to
    {
        found.push((hour, hours.slot(context, hour)));
        hour = next;
    }
    found
}

impl Load {
    pub(crate) fn new(
        workflow: &WorkflowMeasured,
        moved: &[&EventWindows],
        hours: &[(Timestamp, usize)],
    ) -> Self {
        let mut slots = vec![Vec::new(); SLOTS];
        let (Some((first, _)), Some((last, _))) = (hours.first(), hours.last()) else { return Self(slots) };
        let windows = moved.iter().flat_map(|event| &event.windows);
        let windows: Vec<_> = windows.filter(|(start, end)| *start < *last + HOUR && *first < *end).collect();
        let mut starts = workflow.hourly_starts.iter().peekable();
        for (hour, slot) in hours {
            while starts.next_if(|(known, _)| known < hour).is_some() {}
            let runs = starts.peek().filter(|(known, _)| known == hour).map_or(0, |(_, runs)| *runs);
            let in_event = windows.iter().any(|(start, end)| *start < *hour + HOUR && hour < end);
            if !in_event && let Some(slot) = slots.get_mut(*slot) {
                slot.push(runs);
            }
        }
        slots.iter_mut().for_each(|slot| slot.sort_unstable());
        Self(slots)
    }

    /// Mean runs a minute in a slot.
    pub(crate) fn mean(&self, slot: usize) -> Option<Quantity> {
        let hours = self.0.get(slot)?;
        Quantity::ratio(hours.iter().sum::<u64>(), hours.len() * 60)
    }

    /// Mean runs a minute in a slot; in the plain hour of the week where no such holiday was seen.
    pub(crate) fn usual(&self, slot: usize, plain: impl FnOnce() -> usize) -> Option<Quantity> {
        self.mean(slot).or_else(|| self.mean(plain()))
    }

    /// Hours of the history in a slot.
    pub(crate) fn hours(&self, slot: usize) -> usize {
        self.0.get(slot).map_or(0, Vec::len)
    }

    /// The runs a minute that a share of the slot's hours stay at or below (nearest rank).
    pub(crate) fn quantile(&self, slot: usize, share: Share) -> Option<Quantity> {
        let hours = self.0.get(slot)?;
        let rank = (hours.len() * share.0).div_ceil(100).checked_sub(1)?;
        Quantity::ratio(*hours.get(rank)?, 60)
    }

    /// Whether any run was started outside events.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().flatten().all(|runs| *runs == 0)
    }
}

/// Per cent of hours.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Share(pub(crate) usize);
