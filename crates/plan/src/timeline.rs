//! The instants that a plan looks at, and what runs at each.
//!
//! Every hour of every coming event, and the 168 hours after `as_of` for the ordinary week. Instants
//! at which the same events are on in the same hour of the week, in a week of the same growth, share one
//! state, so that a horizon of a year costs a few hundred sums. The invariant: instants are in order of time.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp, ToSpan};

use crate::context::{Context, PlanError};
use crate::rates::{Alike, Rates, Rhythm, hour_floor};
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

/// Moments of one kind and their states.
#[derive(Debug, Default)]
pub(crate) struct Timeline<'a> {
    pub(crate) moments: Vec<Moment>,
    pub(crate) states: Vec<Rates<'a>>,
}

/// Rates a minute, at every hour of coming events and of the coming week.
pub(crate) fn minutes<'a>(context: &Context<'_>, rhythm: &Rhythm<'a>) -> Timeline<'a> {
    let coming = &context.windows.coming;
    let mut instants: Vec<(Timestamp, Option<usize>)> = Vec::new();
    for (index, occurrence) in coming.iter().enumerate() {
        for (start, end) in &occurrence.windows {
            instants.push((*start, Some(index)));
            let whole = hours_after(hour_floor(*start)).take_while(|at| at < end);
            instants.extend(whole.map(|at| (at, Some(index))));
        }
    }
    let as_of = context.input.as_of;
    let week = hours_after(hour_floor(as_of)).take(WEEK_HOURS);
    let ordinary = week.filter(|at| !coming.iter().any(|occurrence| occurrence.contains(*at)));
    instants.extend(ordinary.map(|at| (at, None)));
    instants.sort_unstable();

    let mut line = Timeline::default();
    let mut seen: BTreeMap<(BTreeSet<&str>, Alike), usize> = BTreeMap::new();
    for (at, occurrence) in instants {
        let active = |occurrence: &&EventWindows| occurrence.contains(at);
        let events: BTreeSet<&str> =
            coming.iter().filter(active).map(|occurrence| occurrence.event.as_str()).collect();
        let state = *seen.entry((events, rhythm.alike(at))).or_insert_with(|| {
            line.states.push(rhythm.at(at));
            line.states.len() - 1
        });
        line.moments.push(Moment { at, occurrence, state });
    }
    line
}

/// Runs a day, on every day of coming events and of the coming week.
pub(crate) fn days<'a>(context: &Context<'_>, rhythm: &Rhythm<'a>) -> Result<Timeline<'a>, PlanError> {
    let calendar = context.input.calendar;
    let mut days: BTreeMap<Date, Option<usize>> = BTreeMap::new();
    for ahead in 0..7 {
        days.insert(context.today.checked_add(ahead.days())?, None);
    }
    for (index, occurrence) in context.windows.coming.iter().enumerate() {
        for (start, _) in &occurrence.windows {
            days.insert(calendar.local_date(*start), Some(index));
        }
    }
    let mut line = Timeline::default();
    for (day, occurrence) in days {
        line.moments.push(Moment { at: calendar.start_of_day(day)?, occurrence, state: line.states.len() });
        line.states.push(rhythm.on(day)?);
    }
    Ok(line)
}

/// The whole hours after an hour.
fn hours_after(hour: Timestamp) -> impl Iterator<Item = Timestamp> {
    (1..).map_while(move |hours| hour.checked_add(SignedDuration::from_hours(hours)).ok())
}
