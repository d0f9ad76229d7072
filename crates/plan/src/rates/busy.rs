//! The busy hour: of a workflow's normal days, and of each past occurrence of an event.
//!
//! The unit is one hour. Bursts inside it are the business of replay, and of the limits' own windows; a
//! rate of runs that lasts less would be drawn at its peak by every run at once. Leaves what the ratio
//! of the two means to `effect`. The invariants: both are maxima of whole hours of the same measure; an
//! occurrence that was throttled, or that the lake covers only in part, is a lower bound and marked.

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};

use crate::context::Context;
use crate::quantity::Quantity;
use crate::rates::days::DayStarts;
use crate::rates::past::occurrences;
use crate::windows::EventWindows;
use crate::{OccurrenceMeasured, WorkflowMeasured};

const HOUR: SignedDuration = SignedDuration::from_hours(1);
/// Normal business days that the normal busy hour is taken from.
const DAYS: usize = 20;
/// Fewest of them that tell what is normal.
const FEWEST_DAYS: usize = 5;

/// One past occurrence beside the normal days before it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Lived {
    pub(crate) start: Timestamp,
    /// Runs a minute in its busiest hour.
    pub(crate) per_min: Quantity,
    /// That over the normal busy hour before it; `None` where no normal day was seen.
    pub(crate) ratio: Option<Quantity>,
    /// The figure is a lower bound.
    pub(crate) censored: bool,
}

/// The busy hour of normal business days before a day, in runs a minute: the median of the daily
/// busiest hours of the last twenty. `None` where fewer than five were seen, or none of them ran.
pub(crate) fn normal(days: &[DayStarts], before: Date) -> Option<Quantity> {
    let until = days.partition_point(|day| day.date < before);
    let normal = days.iter().take(until).rev().filter(|day| day.normal).take(DAYS);
    let mut busiest: Vec<u64> = normal.map(|day| day.busiest_hour).collect();
    if busiest.len() < FEWEST_DAYS {
        return None;
    }
    busiest.sort_unstable();
    let middle = busiest.get((busiest.len() - 1) / 2)? + busiest.get(busiest.len() / 2)?;
    Quantity::ratio(middle, 120).filter(|median| !median.is_zero())
}

/// Past occurrences of an event as a workflow lived them, earliest first. Where one meets an
/// occurrence of an event that takes its place, or of a rarer one (a month-end that is a quarter-end too),
/// that one answers for it, unless nothing else is left.
pub(crate) fn lived(
    context: &Context<'_>,
    workflow: &WorkflowMeasured,
    moved: &[&EventWindows],
    days: &[DayStarts],
    event: &str,
) -> Vec<Lived> {
    let past: Vec<&EventWindows> =
        moved.iter().copied().filter(|one| one.end() <= context.input.as_of).collect();
    let windows_of = |occurrence: &OccurrenceMeasured| {
        past.iter().copied().find(|past| past.event == event && past.start() == occurrence.start)
    };
    let all: Vec<(&OccurrenceMeasured, Option<&EventWindows>)> =
        occurrences(workflow, event).map(|occurrence| (occurrence, windows_of(occurrence))).collect();
    let alone = |(_, windows): &&(&OccurrenceMeasured, Option<&EventWindows>)| {
        windows.is_none_or(|windows| !is_anothers(&past, windows))
    };
    let kept: Vec<_> = all.iter().filter(alone).collect();
    let kept = if kept.is_empty() { all.iter().collect() } else { kept };
    let one = |(occurrence, windows): &(&OccurrenceMeasured, Option<&EventWindows>)| {
        one(context, workflow, days, occurrence, *windows)
    };
    kept.into_iter().filter_map(one).collect()
}

fn one(
    context: &Context<'_>,
    workflow: &WorkflowMeasured,
    days: &[DayStarts],
    occurrence: &OccurrenceMeasured,
    windows: Option<&EventWindows>,
) -> Option<Lived> {
    let whole = [(occurrence.start, occurrence.end)];
    let windows = windows.map_or(whole.as_slice(), |windows| windows.windows.as_slice());
    let inside = |(hour, _): &&(Timestamp, u64)| {
        let end = hour.checked_add(HOUR).unwrap_or(*hour);
        windows.iter().any(|(start, until)| start <= hour && end <= *until)
    };
    let from = workflow.hourly_starts.partition_point(|(hour, _)| *hour < occurrence.start);
    let hours = workflow.hourly_starts.iter().skip(from).take_while(|(hour, _)| *hour < occurrence.end);
    let busiest = hours.filter(inside).map(|(_, runs)| *runs).max().unwrap_or(0);
    // Windows shorter than an hour, or off the hour, are told by their own mean.
    let seconds: i64 = windows.iter().map(|(start, end)| end.duration_since(*start).as_secs()).sum();
    let mean = (&Quantity::from(occurrence.runs) * &60.into()).over(&Quantity::ratio(seconds, 1)?)?;
    let per_min = Quantity::ratio(busiest, 60)?.max(mean);
    let partly = context.measured().history.first_run.is_some_and(|first| occurrence.start < first);
    let day = context.input.calendar.local_date(occurrence.start);
    Some(Lived {
        start: occurrence.start,
        ratio: normal(days, day).and_then(|normal| per_min.over(&normal)),
        per_min,
        censored: partly || occurrence.throttled_attempts > 0,
    })
}

/// Whether an occurrence overlaps one of an event that answers for both.
fn is_anothers(past: &[&EventWindows], windows: &EventWindows) -> bool {
    let count = |event: &str| past.iter().filter(|past| past.event == event).count();
    let meets = |other: &EventWindows| {
        let apart = other.end() <= windows.start() || windows.end() <= other.start();
        let overlap =
            |one: &(Timestamp, Timestamp)| windows.windows.iter().any(|own| one.0 < own.1 && own.0 < one.1);
        !apart && other.event != windows.event && other.windows.iter().any(overlap)
    };
    past.iter().filter(|other| meets(other)).any(|other| {
        windows.gives_way_to(other)
            || (!other.gives_way_to(windows) && count(&other.event) < count(&windows.event))
    })
}
