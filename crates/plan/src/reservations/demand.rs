//! What units would have to carry over a term: measured runs, resent at the rates of every hour of the
//! calendar, counted in the windows by which the provider enforces.
//!
//! Each hour of the week (and of each event, and of each week that growth is told of) is replayed for the same
//! number of minutes and stands for as long as the term has of it. Nothing is refused here: a reservation
//! is sized on what is wanted, and what does not fit goes on demand. Leaves costs to `search`. The
//! invariants: a run that goes on past the end of its hour comes in at the beginning, so that no call
//! is lost or counted twice; seeds are the places of the hours.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_catalog::{Call, Carries, Unit};
use plimsoll_replay::{Arrivals, Burst, Draw, Micros, Rate, Route, Run, Runs, Step};

use super::curve::Curve;
use super::group::Member;
use crate::SampledRun;
use crate::context::{Context, PoolId};
use crate::demand::ENOUGH_EVENT_RUNS;
use crate::horizon::Horizon;
use crate::measured::SampledCall;
use crate::quantity::Quantity;
use crate::rates::{Rates, Rhythm};
use crate::sampled::{Course, complete, course, micros, times, used};
use crate::stage::{bursts, is_on};

/// Parts of a dollar that demand in dollars is counted in.
pub(super) const NANO: u64 = 1_000_000_000;
/// Minutes and calls over all hours, at most: ten thousand windows of a minute tell a share of the time
/// to half a percent of all of it.
const MINUTES: u64 = 10_000;
const CALLS: f64 = 2_000_000.0;
/// Minutes of one hour, at most.
const MINUTES_OF_AN_HOUR: u64 = 60;

/// The demand on a deployment in every state of the horizon.
pub(super) struct Demand {
    /// By state: what holds in it.
    states: Vec<Hour>,
    /// Index of the state, by that of [`Horizon::states`].
    place: Vec<usize>,
    /// Calls replayed.
    pub(super) calls: u64,
    /// Minutes replayed, over all hours.
    pub(super) minutes: u64,
}

/// By length of a window: what is drawn in each.
type Windows = Vec<(u32, Vec<u64>)>;

/// One state.
#[derive(Debug, Clone)]
struct Hour {
    /// The event that moves a workflow of the deployment.
    event: Option<String>,
    windows: Windows,
    /// What tier 0, and tiers 0 and 1 together, draw a minute at the percentile.
    floors: [Quantity; 2],
}

/// Some of the time of a term: the ordinary hours, or those of one event.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) event: Option<String>,
    /// Share of the term's time.
    pub(crate) share: Quantity,
    pub(crate) seconds: u64,
    /// By length of a window.
    pub(crate) curves: Vec<Curve>,
    /// The largest floors of its hours, a minute: of tier 0, and of tiers 0 and 1.
    pub(crate) floors: [Quantity; 2],
}

impl Demand {
    /// Replays the horizon. `None` where no run with known usage draws on the deployment at any rate.
    pub(super) fn replayed(
        context: &Context<'_>,
        rhythm: &Rhythm<'_>,
        horizon: &Horizon,
        member: &Member<'_>,
    ) -> Option<Self> {
        let unit = member.unit?;
        let cast = Cast::of(context, member, unit)?;
        let names: BTreeSet<&str> = cast.drawing.keys().copied().collect();
        let mut seen = BTreeMap::new();
        let mut rates: Vec<(Option<String>, Rates<'_>)> = Vec::new();
        let mut place = Vec::with_capacity(horizon.states.len());
        for state in &horizon.states {
            let active: Vec<_> = state.active(context).filter(|on| on.moves(&names)).collect();
            let events: BTreeSet<&str> = active.iter().map(|on| on.event.as_str()).collect();
            place.push(*seen.entry((events, state.alike)).or_insert_with(|| {
                let event =
                    names.iter().find_map(|name| rhythm.mover(name, &active)).map(|on| on.event.clone());
                rates.push((event, rhythm.of(state.at, &active, &names)));
                rates.len() - 1
            }));
        }
        let calls_a_minute: f64 = rates.iter().map(|(_, rates)| cast.calls_a_minute(rates)).sum();
        if calls_a_minute <= 0.0 {
            return None;
        }
        let lengths = lengths(unit, member);
        let longest = u64::from(lengths.iter().copied().max().unwrap_or(60));
        let wanted = (MINUTES / rates.len().max(1) as u64).min((CALLS / calls_a_minute) as u64);
        let minutes = wanted.clamp(1, MINUTES_OF_AN_HOUR).max(longest.div_ceil(60));
        let mut calls = 0;
        let states = (1u64..)
            .zip(&rates)
            .map(|(seed, (event, rates))| {
                let (windows, seen) = cast.windows(rates, minutes, &lengths, seed)?;
                calls += seen;
                let floors = [0, 1].map(|tier| cast.floor(context, member, rates, tier));
                Some(Hour { event: event.clone(), windows, floors })
            })
            .collect::<Option<Vec<_>>>()?;
        let minutes = minutes * states.len() as u64;
        Some(Self { states, place, calls, minutes })
    }

    /// How many kinds of hours were replayed.
    pub(super) fn states(&self) -> u64 {
        self.states.len() as u64
    }

    /// The first so many hours of the horizon: the ordinary ones, then those of each event by name.
    pub(super) fn over(&self, horizon: &Horizon, hours: u64) -> Vec<Part> {
        let mut left = hours.saturating_mul(3600);
        let mut seconds = vec![0u64; self.states.len()];
        for stretch in &horizon.stretches {
            let taken = stretch.seconds.min(left);
            left -= taken;
            if let Some(of) = self.place.get(stretch.state).and_then(|place| seconds.get_mut(*place)) {
                *of += taken;
            }
        }
        let all: u64 = seconds.iter().sum();
        let mut parts: BTreeMap<Option<&str>, Vec<(&Hour, u64)>> = BTreeMap::new();
        for (hour, seconds) in self.states.iter().zip(seconds).filter(|(_, seconds)| *seconds > 0) {
            parts.entry(hour.event.as_deref()).or_default().push((hour, seconds));
        }
        parts.into_iter().filter_map(|(event, hours)| part(event, &hours, all)).collect()
    }
}

fn part(event: Option<&str>, hours: &[(&Hour, u64)], all: u64) -> Option<Part> {
    let seconds = hours.iter().map(|(_, seconds)| seconds).sum();
    let lengths = hours.first()?.0.windows.iter().map(|(length, _)| *length).enumerate();
    let curves = lengths.map(|(index, length)| {
        let of = |(hour, seconds): &(&Hour, u64)| {
            let amounts = hour.windows.get(index).map_or(&[][..], |(_, amounts)| amounts.as_slice());
            amounts.iter().map(|amount| (*amount, *seconds)).collect::<Vec<_>>()
        };
        Curve::new(length, hours.iter().flat_map(of).collect(), 0)
    });
    let floor = |tier: usize| {
        let floors = hours.iter().filter_map(|(hour, _)| hour.floors.get(tier).cloned());
        floors.max().unwrap_or_default()
    };
    Some(Part {
        event: event.map(str::to_owned),
        share: Quantity::ratio(seconds, all)?,
        seconds,
        curves: curves.collect(),
        floors: [floor(0), floor(1)],
    })
}

/// The lengths of windows that any count of units is enforced by, seconds.
pub(super) fn lengths(unit: &Unit, member: &Member<'_>) -> Vec<u32> {
    let shrinking: BTreeSet<u32> = unit.windows.iter().map(|window| window.shortest_s).collect();
    if shrinking.is_empty() { vec![window_of(unit, member)] } else { shrinking.into_iter().collect() }
}

/// The window of a unit whose use is not enforced over shrinking ones: the limit's own, a minute where no
/// source tells.
pub(super) fn window_of(unit: &Unit, member: &Member<'_>) -> u32 {
    let counts = unit.carries.measure();
    let limit = member.entry.and_then(|entry| entry.dimensions.iter().find(|limit| limit.counts == counts));
    limit.map_or(60, |limit| limit.window_s.max(1))
}

/// The window by which so many units are enforced, seconds; none are like one.
pub(super) fn enforced_over(unit: &Unit, member: &Member<'_>, units: u64) -> u32 {
    unit.window(units.max(1)).map_or_else(|| window_of(unit, member), |window| window.shortest_s)
}

/// Runs to draw from.
struct Cast<'a> {
    runs: Runs,
    /// By run: when each call starts after the run does, and what it draws.
    calls: Vec<Vec<(Micros, u64)>>,
    /// By workflow.
    drawing: BTreeMap<&'a str, Drawing<'a>>,
}

/// A workflow's whole runs, inside an event or of the history, as steps.
type Set<'a> = ((&'a str, Option<&'a str>), Vec<Vec<Step>>);

/// One workflow's runs.
struct Drawing<'a> {
    bursts: Vec<Burst>,
    /// By event in whose past occurrences they ran; without one those of the history.
    samples: Vec<(Option<&'a str>, Sample)>,
}

/// Runs that one is drawn from.
struct Sample {
    /// Among the workflows of [`Cast::runs`].
    place: u32,
    /// What whole runs draw, ascending.
    totals: Vec<u64>,
    calls_a_run: f64,
}

impl Drawing<'_> {
    /// The event's own runs where there are enough of them, else those of the history.
    fn sample(&self, event: Option<&str>) -> Option<&Sample> {
        let of = |event: Option<&str>| self.samples.iter().find(|(known, _)| *known == event);
        event.and_then(|event| of(Some(event))).or_else(|| of(None)).map(|(_, sample)| sample)
    }
}

impl<'a> Cast<'a> {
    fn of(context: &'a Context<'_>, member: &Member<'_>, unit: &Unit) -> Option<Self> {
        let workflows = member.workflows(context).into_iter().filter(|name| member.takes(context, name));
        let workflows: Vec<&str> = workflows.collect();
        let mut sets: Vec<Set<'_>> = Vec::new();
        for name in &workflows {
            let routes = |call: &SampledCall| Some(vec![route(call, carried(context, member, unit, call)?)?]);
            let of = |runs: &[&SampledRun]| {
                let courses = runs.iter().filter_map(|run| course(run, |call| !call.tool, routes));
                let mut courses: Vec<Course> = courses.collect();
                complete(&mut courses);
                let steps = courses.into_iter().map(|course| course.steps);
                steps.filter(|steps| !steps.is_empty()).collect::<Vec<_>>()
            };
            sets.push(((name, None), of(context.index.runs(name, None))));
            for event in &context.spec().events {
                let own = of(context.index.runs(name, Some(&event.name)));
                if own.len() as u64 >= ENOUGH_EVENT_RUNS {
                    sets.push(((name, Some(&event.name)), own));
                }
            }
        }
        sets.retain(|(_, runs)| !runs.is_empty());
        let known: BTreeSet<&str> = sets.iter().map(|((name, _), _)| *name).collect();
        // What one workflow draws cannot stand for what another does.
        if known.is_empty() || known.len() < workflows.len() {
            return None;
        }
        let mut cast = Self {
            runs: Runs::new(sets.iter().map(|((name, _), _)| *name)),
            calls: Vec::new(),
            drawing: BTreeMap::new(),
        };
        for (place, ((name, event), runs)) in (0u32..).zip(sets) {
            let (mut totals, mut calls) = (Vec::new(), 0);
            for steps in runs {
                let drawn = drawn(&steps);
                calls += drawn.len();
                totals.push(drawn.iter().map(|(_, amount)| amount).sum());
                cast.calls.push(drawn);
                let run = Run { workflow: place, tier: 0, class: 0, arrival: Micros::ZERO, steps };
                cast.runs.push(&run).ok()?;
            }
            totals.sort_unstable();
            let calls_a_run = calls as f64 / totals.len() as f64;
            let of = cast
                .drawing
                .entry(name)
                .or_insert_with(|| Drawing { bursts: bursts(context, name, None), samples: Vec::new() });
            of.samples.push((event, Sample { place, totals, calls_a_run }));
        }
        Some(cast)
    }

    fn calls_a_minute(&self, rates: &Rates<'_>) -> f64 {
        let calls = rates.iter().filter_map(|(name, rate)| {
            let sample = self.drawing.get(*name)?.sample(rate.event.as_deref())?;
            Some(rate.per_min.to_f64() * sample.calls_a_run)
        });
        calls.sum()
    }

    /// Draws of every window of each length over so many minutes at these rates, and the calls made.
    fn windows(&self, rates: &Rates<'_>, minutes: u64, lengths: &[u32], seed: u64) -> Option<(Windows, u64)> {
        let whole = Micros(minutes * Micros::MINUTE.0);
        let steady = rates.iter().filter_map(|(name, rate)| {
            let of = self.drawing.get(*name)?;
            let place = of.sample(rate.event.as_deref())?.place;
            let steady = Rate::steady(place, Micros::ZERO, whole, rate.per_min.to_f64());
            Some(Rate { bursts: of.bursts.clone(), ..steady })
        });
        let arrivals = Arrivals::resampled(&self.runs, &steady.collect::<Vec<_>>(), seed).ok()?;
        let empty = |length: &u32| {
            let count = whole.0 / (u64::from(*length) * Micros::SECOND.0);
            (*length, vec![0u64; usize::try_from(count).unwrap_or(0)])
        };
        let mut windows: Windows = lengths.iter().map(empty).collect();
        let mut calls = 0;
        for (at, run) in arrivals.as_slice() {
            for (after, amount) in self.calls.get(*run as usize)? {
                calls += 1;
                let start = (at.0 + after.0) % whole.0;
                for (length, amounts) in &mut windows {
                    let index = start / (u64::from(*length) * Micros::SECOND.0);
                    // The rest of the time, shorter than a window, is left out.
                    if let Some(of) = usize::try_from(index).ok().and_then(|index| amounts.get_mut(index)) {
                        *of += amount;
                    }
                }
            }
        }
        Some((windows, calls))
    }

    /// What workflows of that tier or a more urgent one draw a minute: the percentile of a run's draw x runs a
    /// minute.
    fn floor(&self, context: &Context<'_>, member: &Member<'_>, rates: &Rates<'_>, tier: u8) -> Quantity {
        let urgent = rates.iter().filter(|(name, _)| member.has_floor(context, name, tier));
        let floors = urgent.filter_map(|(name, rate)| {
            let sample = self.drawing.get(*name)?.sample(rate.event.as_deref())?;
            Some(&percentile(&sample.totals, &context.spec().policy.percentile) * &rate.per_min)
        });
        floors.sum()
    }
}

/// A percentile of ascending values by linear interpolation, exact.
pub(super) fn percentile(ascending: &[u64], level: &Quantity) -> Quantity {
    let last = ascending.len().saturating_sub(1);
    let rank = level * &Quantity::from(last as u64);
    let below = usize::try_from(rank.floor()).unwrap_or(last).min(last);
    let value = |index: usize| ascending.get(index.min(last)).copied().unwrap_or(0);
    let part = rank - Quantity::from(below as u64);
    Quantity::from(value(below)) + part * Quantity::from(value(below + 1) - value(below))
}

/// What a call draws of the units; 0 where it goes elsewhere, `None` where what it used is not known.
fn carried(context: &Context<'_>, member: &Member<'_>, unit: &Unit, call: &SampledCall) -> Option<u64> {
    if !is_for(member, call) {
        return Some(0);
    }
    let used: Call = used(call)?;
    if unit.carries == Carries::Usd {
        let usd = context.entry(&call.pool)?.cost(&used, context.today)?;
        return crate::stage::nano_usd(usd);
    }
    Some(member.entry?.meter(&used).settlement.amount(unit.carries.measure()))
}

/// Whether a call was meant for a deployment: it was served there, or asked it first, or went where those go that
/// do not fit in.
pub(super) fn is_for(member: &Member<'_>, call: &SampledCall) -> bool {
    let served = |id: &PoolId| is_on(id, call);
    let asked = PoolId::asked(call);
    member.serves.iter().any(|id| served(id) || asked.as_ref() == Some(id))
        || member.spills_to.iter().any(served)
}

/// A call as a step has it: only what it draws and how long it takes matter here.
fn route(call: &SampledCall, amount: u64) -> Option<Route> {
    let latency = micros(call.latency_us);
    Some(Route { pool: 0, draws: vec![Draw::flat(amount)], latency, ttft: None, nano_usd: 0 })
}

/// When each call that draws anything starts, without any wait, and what it draws.
fn drawn(steps: &[Step]) -> Vec<(Micros, u64)> {
    let amount = |step: &Step| step.routes.first()?.draws.first().map(|draw| draw.settlement);
    let drawn = steps.iter().zip(times(steps));
    drawn.filter_map(|(step, (start, _))| Some((start, amount(step).filter(|amount| *amount > 0)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Protects the floor: a percentile of few values lies between them, exactly.
    #[test]
    fn percentiles_are_interpolated() {
        let level = Quantity::ratio(95, 100).unwrap_or_default();
        assert_eq!(percentile(&[10, 20], &level), Quantity::ratio(195, 10).unwrap_or_default());
        assert_eq!(percentile(&[7], &level), Quantity::from(7));
        assert_eq!(percentile(&[], &level), Quantity::zero());
    }

    /// Protects the windows: calls start when those that they wait for have ended, and calls that draw
    /// nothing take their time all the same.
    #[test]
    fn calls_start_when_they_can() {
        let step = |after: &[u32], think: u64, latency: u64, amount: u64| Step {
            after: after.to_vec(),
            think: Micros(think),
            routes: vec![Route {
                pool: 0,
                draws: vec![Draw::flat(amount)],
                latency: Micros(latency),
                ttft: None,
                nano_usd: 0,
            }],
        };
        let steps = [step(&[], 5, 10, 3), step(&[0], 1, 100, 0), step(&[0, 1], 2, 1, 4)];
        assert_eq!(drawn(&steps), [(Micros(5), 3), (Micros(118), 4)]);
    }
}
