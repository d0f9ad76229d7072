//! The whole horizon, cut into stretches within which no rate changes.
//!
//! For what is summed over months and terms: what is spent, and what units are used for. Limits look at
//! single instants instead (`timeline`). The invariant: the stretches follow each other without a gap, and
//! each lies in one hour, one set of occurrences and one local month.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::Date;

use crate::context::{Context, PlanError};
use crate::rates::{Alike, Rhythm, hours_after};
use crate::sweep::Sweep;
use crate::windows::EventWindows;

/// Some time within which rates are constant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) from: Timestamp,
    /// Length.
    pub(crate) seconds: u64,
    /// Index into [`Horizon::states`].
    pub(crate) state: usize,
    /// Index into [`Horizon::months`].
    pub(crate) month: usize,
}

/// What decides the rates of a stretch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct State {
    /// An instant of it.
    pub(crate) at: Timestamp,
    /// Hour of the week and weeks ahead.
    pub(crate) alike: Alike,
    /// Places of the occurrences that are on, in `Windows::coming`.
    pub(crate) on: Vec<usize>,
}

impl State {
    /// The occurrences that are on.
    pub(crate) fn active<'c>(&self, context: &'c Context<'_>) -> impl Iterator<Item = &'c EventWindows> {
        self.on.iter().filter_map(move |index| context.windows.coming.get(*index))
    }
}

/// A local month, or the part of it that lies in the horizon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Month {
    /// Its first day.
    pub(crate) first: Date,
    pub(crate) from: Timestamp,
    pub(crate) to: Timestamp,
}

/// From `as_of` to the end of the horizon.
#[derive(Debug, Default)]
pub(crate) struct Horizon {
    pub(crate) stretches: Vec<Stretch>,
    pub(crate) states: Vec<State>,
    pub(crate) months: Vec<Month>,
}

impl Horizon {
    pub(crate) fn new(context: &Context<'_>, rhythm: &Rhythm<'_>) -> Result<Self, PlanError> {
        let from = context.input.as_of;
        let to = from.checked_add(context.spec().policy.horizon.duration())?;
        let months = months(context, from, to)?;
        let cuts = cuts(context, &months, from, to);
        let mut horizon = Self { months, ..Self::default() };
        let mut sweep = Sweep::new(&context.windows.coming);
        let mut seen: BTreeMap<(Vec<usize>, Alike), usize> = BTreeMap::new();
        let mut month = 0;
        for pair in cuts.windows(2) {
            let (at, end) = (pair[0], pair[1]);
            while horizon.months.get(month).is_some_and(|month| month.to <= at) {
                month += 1;
            }
            let (on, alike) = (sweep.at(at), rhythm.alike(at));
            let state = *seen.entry((on.clone(), alike)).or_insert_with(|| {
                horizon.states.push(State { at, alike, on });
                horizon.states.len() - 1
            });
            let seconds = u64::try_from(end.duration_since(at).as_secs()).unwrap_or(0);
            horizon.stretches.push(Stretch { from: at, seconds, state, month });
        }
        Ok(horizon)
    }
}

/// The local months of the horizon, in order.
fn months(context: &Context<'_>, from: Timestamp, to: Timestamp) -> Result<Vec<Month>, PlanError> {
    let calendar = context.input.calendar;
    let mut months = Vec::new();
    let (mut first, mut at) = (context.today.first_of_month(), from);
    while at < to {
        let next = first.last_of_month().tomorrow()?;
        let end = calendar.start_of_day(next)?.min(to);
        months.push(Month { first, from: at, to: end });
        (first, at) = (next, end);
    }
    Ok(months)
}

/// Every instant at which anything may change, both ends among them.
fn cuts(context: &Context<'_>, months: &[Month], from: Timestamp, to: Timestamp) -> Vec<Timestamp> {
    let windows = context.windows.coming.iter().flat_map(|occurrence| &occurrence.windows);
    let mut cuts: Vec<Timestamp> = hours_after(from)
        .take_while(|at| *at < to)
        .chain(windows.flat_map(|(start, end)| [*start, *end]))
        .chain(months.iter().map(|month| month.to))
        .filter(|at| from < *at && *at < to)
        .chain([from, to])
        .collect();
    cuts.sort_unstable();
    cuts.dedup();
    cuts
}
