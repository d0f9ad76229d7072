//! How fast every workflow starts runs, at each instant that a plan looks at.
//!
//! Inside an event a workflow starts runs at its event rate, outside at the rate of that hour of the
//! week. Leaves what a run draws to `demand`. The invariant: every rate says what it came from, and a
//! rate that cannot be known is absent, never zero.

use std::collections::BTreeMap;

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};

use crate::context::{Context, PlanError, mean};
use crate::overlap::holds;
use crate::quantity::Quantity;
use crate::windows::EventWindows;
use crate::{OccurrenceMeasured, WorkflowMeasured};

const HOUR: SignedDuration = SignedDuration::from_hours(1);
const MINUTE_US: u64 = 60_000_000;

/// A rate and where it came from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rate {
    /// Runs started a minute.
    pub(crate) per_min: Quantity,
    /// in_flight, runs_per_min, measured, multiplier, hour_of_week.
    pub(crate) from: &'static str,
    /// The event that gave it.
    pub(crate) event: Option<String>,
    /// How it came about, as a clause.
    pub(crate) how: String,
}

/// What every workflow does at once; workflows without a known rate are absent.
pub(crate) type Rates<'a> = BTreeMap<&'a str, Rate>;

/// Rates of all workflows at any instant.
#[derive(Debug)]
pub(crate) struct Rhythm<'a> {
    context: &'a Context<'a>,
    /// Runs a minute by hour of the week, Monday 00:00 local first.
    weeks: BTreeMap<&'a str, Vec<Option<Quantity>>>,
}

impl<'a> Rhythm<'a> {
    pub(crate) fn new(context: &'a Context<'a>) -> Self {
        let weeks = context.measured().workflows.iter();
        let weeks =
            weeks.map(|workflow| (workflow.workflow.as_str(), hour_of_week(context, workflow))).collect();
        Self { context, weeks }
    }

    /// Runs a minute of every workflow at an instant.
    pub(crate) fn at(&self, at: Timestamp) -> Rates<'a> {
        let slot = slot(self.context, at);
        let active: Vec<&EventWindows> =
            self.context.windows.coming.iter().filter(|occurrence| occurrence.contains(at)).collect();
        let mut rates = Rates::new();
        for workflow in &self.context.measured().workflows {
            let ordinary = self.ordinary(&workflow.workflow, slot);
            let name = &workflow.workflow;
            let moves =
                |event: &&&EventWindows| event.workflows.contains_key(name) && holds(event, &active, name);
            let mut moved = active.iter().filter(moves).peekable();
            let rate = if moved.peek().is_none() {
                ordinary
            } else {
                // Where two events overlap, the busier one is what happens. An event whose rate is
                // not known has none: the ordinary rate would understate it.
                let rates = moved.filter_map(|event| self.in_event(workflow, event, ordinary.as_ref()));
                rates.max_by(|one, other| one.per_min.cmp(&other.per_min))
            };
            rates.extend(rate.map(|rate| (workflow.workflow.as_str(), rate)));
        }
        rates
    }

    /// Runs of every workflow over a local day, told as a rate whose unit is the day.
    pub(crate) fn on(&self, day: Date) -> Result<Rates<'a>, PlanError> {
        let calendar = self.context.input.calendar;
        let (mut at, end) = (calendar.start_of_day(day)?, calendar.start_of_day(day.tomorrow()?)?);
        let quarter = SignedDuration::from_mins(15);
        let mut day = Rates::new();
        while at < end {
            for (workflow, rate) in self.at(at) {
                let runs = &rate.per_min * &15.into();
                day.entry(workflow)
                    .and_modify(|sum| {
                        sum.per_min = &sum.per_min + &runs;
                        if rate.event.is_some() {
                            (sum.from, sum.event, sum.how) =
                                (rate.from, rate.event.clone(), rate.how.clone());
                        }
                    })
                    .or_insert(Rate { per_min: runs, ..rate });
            }
            at = at.checked_add(quarter)?;
        }
        Ok(day)
    }

    /// Mean rate of that hour of the week, outside the workflow's own events.
    fn ordinary(&self, workflow: &str, slot: usize) -> Option<Rate> {
        let per_min = self.weeks.get(workflow)?.get(slot)?.clone()?;
        let how = format!("{per_min} runs/min, the mean of that hour of the week in the history");
        Some(Rate { per_min, from: "hour_of_week", event: None, how })
    }

    fn in_event(
        &self,
        workflow: &WorkflowMeasured,
        occurrence: &EventWindows,
        ordinary: Option<&Rate>,
    ) -> Option<Rate> {
        let rate = occurrence.workflows.get(&workflow.workflow)?;
        let (per_min, from, how) = if let Some(runs) = &rate.runs_per_min {
            (runs.clone(), "runs_per_min", format!("{runs} runs/min, as the spec has it"))
        } else if let Some(in_flight) = &rate.in_flight {
            let (minutes, whose) = run_minutes(workflow, &occurrence.event)?;
            let per_min = in_flight.over(&minutes)?;
            let how =
                format!("{in_flight} in flight / {minutes} min mean run ({whose}) = {per_min} runs/min");
            (per_min, "in_flight", how)
        } else if let Some(times) = &rate.multiplier {
            let usual = &ordinary?.per_min;
            (usual * times, "multiplier", format!("{times} x {usual} runs/min of that hour of the week"))
        } else {
            let (per_min, n) = self.measured(workflow, &occurrence.event)?;
            let past = if n == 1 {
                "the one past occurrence".to_owned()
            } else {
                format!("the busiest of {n} past occurrences")
            };
            let how = format!("{per_min} runs/min, {past}");
            (per_min, "measured", how)
        };
        Some(Rate { per_min, from, event: Some(occurrence.event.clone()), how })
    }

    /// Runs a minute in the windows of the busiest past occurrence, and how many there were.
    fn measured(&self, workflow: &WorkflowMeasured, event: &str) -> Option<(Quantity, usize)> {
        let past: Vec<&OccurrenceMeasured> = occurrences(workflow, event).collect();
        let rate = |occurrence: &&OccurrenceMeasured| {
            let windows = self
                .context
                .windows
                .past
                .iter()
                .find(|past| past.event == event && past.start() == occurrence.start);
            let lengths = |windows: &EventWindows| -> i64 {
                windows.windows.iter().map(|(start, end)| end.duration_since(*start).as_secs()).sum()
            };
            let whole = || occurrence.end.duration_since(occurrence.start).as_secs();
            let minutes = windows.map_or_else(whole, lengths) / 60;
            Quantity::ratio(occurrence.runs, minutes)
        };
        Some((past.iter().filter_map(rate).max()?, past.len()))
    }
}

/// Past occurrences of an event in which the workflow ran.
pub(crate) fn occurrences<'w>(
    workflow: &'w WorkflowMeasured,
    event: &str,
) -> impl Iterator<Item = &'w OccurrenceMeasured> {
    workflow.occurrences.iter().filter(move |occurrence| occurrence.event == event && occurrence.runs > 0)
}

/// Mean minutes of a run: the event's own where measured. A throttle only ever lengthens runs, so
/// where the event was throttled the shorter of the two means counts.
pub(crate) fn run_minutes(workflow: &WorkflowMeasured, event: &str) -> Option<(Quantity, String)> {
    let told = |stat: &crate::Stat, whose: &str| {
        let minutes = mean(stat)?.over(&MINUTE_US.into()).filter(|minutes| !minutes.is_zero())?;
        Some((minutes, format!("n = {} {whose}", stat.n)))
    };
    let all = workflow.metrics.get("duration_ms").and_then(|stat| told(stat, "runs of the history"));
    let own = workflow.event_duration.get(event).and_then(|stat| told(stat, "runs of its past occurrences"));
    let throttled = occurrences(workflow, event).any(|occurrence| occurrence.throttled_attempts > 0);
    match (own, all) {
        (Some(own), Some(all)) if throttled && all.0 < own.0 => {
            Some((all.0, format!("{}, since past occurrences were throttled", all.1)))
        }
        (own, all) => own.or(all),
    }
}

/// Hour of the week of an instant in the calendar's zone, Monday 00:00 first.
pub(crate) fn slot(context: &Context<'_>, at: Timestamp) -> usize {
    let local = context.input.calendar.zone().to_datetime(at);
    let day = usize::try_from(local.weekday().to_monday_zero_offset()).unwrap_or(0);
    day * 24 + usize::try_from(local.hour()).unwrap_or(0)
}

/// Mean runs a minute by hour of the week over the history, hours of the workflow's own events left
/// out. An hour that the history never saw outside an event has no rate.
fn hour_of_week(context: &Context<'_>, workflow: &WorkflowMeasured) -> Vec<Option<Quantity>> {
    let history = &context.measured().history;
    let starts: BTreeMap<Timestamp, u64> = workflow.hourly_starts.iter().copied().collect();
    let events: Vec<&EventWindows> = context
        .windows
        .past
        .iter()
        .chain(&context.windows.coming)
        .filter(|occurrence| occurrence.workflows.contains_key(&workflow.workflow))
        .collect();
    let mut slots = vec![(0u64, 0u64); 168];
    let mut hour = hour_floor(history.first_run.map_or(history.from, |first| first.max(history.from)));
    while let Ok(next) = hour.checked_add(HOUR)
        && next <= history.to
    {
        let overlaps = |occurrence: &&EventWindows| {
            occurrence.windows.iter().any(|(start, end)| *start < next && hour < *end)
        };
        if !events.iter().any(overlaps)
            && let Some((hours, runs)) = slots.get_mut(slot(context, hour))
        {
            *hours += 1;
            *runs += starts.get(&hour).copied().unwrap_or(0);
        }
        hour = next;
    }
    slots.into_iter().map(|(hours, runs)| Quantity::ratio(runs, hours * 60)).collect()
}

/// The start of the UTC hour.
pub(crate) fn hour_floor(at: Timestamp) -> Timestamp {
    let seconds = at.as_second();
    Timestamp::from_second(seconds - seconds.rem_euclid(3600)).unwrap_or(at)
}
