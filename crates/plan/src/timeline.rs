//! The instants that a plan looks at, and what runs at each.
//!
//! Every hour of every coming event, and the 168 hours after `as_of` for the ordinary week. What concerns
//! one pool are the ordinary hours and the events that move a workflow which draws on it; instants at which
//! the same events are on in the same hour of the week, in a week of the same growth, share one state, so that a
//! horizon of a year costs a few hundred sums. The invariant: instants are in order of time.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;
use jiff::{Timestamp, ToSpan};

use crate::context::{Context, PlanError};
use crate::rates::{Alike, Rate, Rates, Rhythm, hours_after};
use crate::sweep::Sweep;
use crate::windows::EventWindows;

/// Hours of the ordinary week that follows `as_of`.
const WEEK_HOURS: usize = 168;

/// One instant (or local day), with the state that holds at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment {
    pub(crate) at: Timestamp,
    /// Index into `Windows::coming` of the occurrence that it was looked at for.
    pub(crate) occurrence: Option<usize>,
    /// Index into the states.
    pub(crate) state: usize,
}

/// Moments of one kind with the rates of their states, as far as they concern some workflows.
#[derive(Debug, Default)]
pub(crate) struct Timeline<'a> {
    pub(crate) moments: Vec<Moment>,
    pub(crate) states: Vec<Rates<'a>>,
}

impl Timeline<'_> {
    /// The state in which a workflow starts most runs, of equal ones the earliest, with its rate there.
    pub(crate) fn busiest(&self, workflow: &str) -> Option<(usize, &Rate)> {
        let rates = self.states.iter().enumerate();
        let rates = rates.filter_map(|(state, rates)| Some((state, rates.get(workflow)?)));
        rates.rev().max_by(|one, other| one.1.per_min.cmp(&other.1.per_min))
    }
}

/// What is on at an instant.
#[derive(Debug)]
struct Instant {
    at: Timestamp,
    occurrence: Option<usize>,
    on: Vec<usize>,
    alike: Alike,
}

/// All instants of a plan, from which [`Instants::of`] takes those that concern a pool.
#[derive(Debug)]
pub(crate) struct Instants(Vec<Instant>);

impl Instants {
    /// Every hour of coming events and of the coming week.
    pub(crate) fn new(context: &Context<'_>, rhythm: &Rhythm<'_>) -> Self {
        let coming = &context.windows.coming;
        let mut instants: Vec<(Timestamp, Option<usize>)> = Vec::new();
        for (index, occurrence) in coming.iter().enumerate() {
            for (start, end) in &occurrence.windows {
                instants.push((*start, Some(index)));
                let whole = hours_after(*start).take_while(|at| at < end);
                instants.extend(whole.map(|at| (at, Some(index))));
            }
        }
        instants.extend(week(context).map(|at| (at, None)));
        instants.sort_unstable();
        let mut sweep = Sweep::new(coming);
        let told = instants.into_iter().map(|(at, occurrence)| {
            let (on, alike) = (sweep.at(at), rhythm.alike(at));
            Instant { at, occurrence, on, alike }
        });
        // What is on in an hour of the week is looked at for the event.
        Self(told.filter(|instant| instant.occurrence.is_some() || instant.on.is_empty()).collect())
    }

    /// The ordinary hours, and those of events that move any of the workflows, with the rates of these.
    pub(crate) fn of<'a>(
        &self,
        context: &Context<'_>,
        rhythm: &Rhythm<'a>,
        workflows: &BTreeSet<&str>,
    ) -> Timeline<'a> {
        let coming = &context.windows.coming;
        let concerns: Vec<bool> = coming.iter().map(|occurrence| occurrence.moves(workflows)).collect();
        let concerned = |index: &usize| concerns.get(*index).copied().unwrap_or(false);
        let mut line = Timeline::default();
        let mut seen: BTreeMap<(BTreeSet<&str>, Alike), usize> = BTreeMap::new();
        for instant in self.0.iter().filter(|instant| instant.occurrence.as_ref().is_none_or(concerned)) {
            let active: Vec<&EventWindows> = instant
                .on
                .iter()
                .filter(|index| concerned(index))
                .filter_map(|index| coming.get(*index))
                .collect();
            let events = active.iter().map(|occurrence| occurrence.event.as_str()).collect();
            let state = *seen.entry((events, instant.alike)).or_insert_with(|| {
                line.states.push(rhythm.of(instant.at, &active, workflows));
                line.states.len() - 1
            });
            line.moments.push(Moment { at: instant.at, occurrence: instant.occurrence, state });
        }
        line
    }
}

/// Runs a day of some workflows, on every day of the events that move any of them, and of the coming week.
pub(crate) fn days<'a>(
    context: &Context<'_>,
    rhythm: &Rhythm<'a>,
    workflows: &BTreeSet<&str>,
) -> Result<Timeline<'a>, PlanError> {
    let calendar = context.input.calendar;
    let mut days: BTreeMap<Date, Option<usize>> = BTreeMap::new();
    for ahead in 0..7 {
        days.insert(context.today.checked_add(ahead.days())?, None);
    }
    let coming = context.windows.coming.iter().enumerate();
    let moving: Vec<(usize, &EventWindows)> =
        coming.filter(|(_, occurrence)| occurrence.moves(workflows)).collect();
    for (index, occurrence) in &moving {
        let starts = occurrence.windows.iter().map(|(start, _)| calendar.local_date(*start));
        days.extend(starts.map(|day| (day, Some(*index))));
    }
    let moving: Vec<&EventWindows> = moving.into_iter().map(|(_, occurrence)| occurrence).collect();
    let mut line = Timeline::default();
    for (day, occurrence) in days {
        line.moments.push(Moment { at: calendar.start_of_day(day)?, occurrence, state: line.states.len() });
        line.states.push(rhythm.on(day, workflows, &moving)?);
    }
    Ok(line)
}

/// The hours of the ordinary week.
pub(crate) fn week(context: &Context<'_>) -> impl Iterator<Item = Timestamp> {
    hours_after(context.input.as_of).take(WEEK_HOURS)
}
