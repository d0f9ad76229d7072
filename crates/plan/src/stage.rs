//! What an instant looks like to a replay: runs of the workflows that draw, and the limits they meet.
//!
//! Some pools are on stage, with some of their dimensions; what runs do elsewhere takes the time that it
//! took. Leaves searching and telling to whoever replays. The invariant: a run is on stage only where all
//! that it draws there is known.

use std::collections::BTreeMap;

use plimsoll_catalog::{Call, Enforcement, Entry, Measure, Metered, Refused};
use plimsoll_replay::{
    Arrivals, Burst, Case, Draw, Micros, Pool, Quota, Rate, Route, Rule, Run, Runs, Settings, Step, Window,
    World,
};
use rust_decimal::{Decimal, prelude::ToPrimitive};

use crate::SampledRun;
use crate::change::Change;
use crate::context::{Context, PoolId};
use crate::demand::{Counted, ENOUGH_EVENT_RUNS, Kind};
use crate::measured::SampledCall;
use crate::rates::Rates;
use crate::sampled::{micros, steps, used};

/// Longest time in which pools fill up before anything is counted, minutes.
const WARM_UP: u64 = 30;

/// Runs on stage over all workflows, and of each at least: where hundreds of workflows come, no replay draws
/// more different ones.
const RUNS: usize = 10_000;
const FEWEST_RUNS: usize = 20;

/// Tier of a workflow that nobody gave one.
const LEAST_URGENT: u8 = 3;

/// Pools with the dimensions that are looked at.
#[derive(Clone)]
pub(crate) struct Stage<'a> {
    context: &'a Context<'a>,
    pools: Vec<Staged<'a>>,
    change: Change,
}

/// A pool on stage, with what a call's draw on it is made from.
#[derive(Clone)]
struct Staged<'a> {
    id: PoolId,
    counted: Vec<Counted>,
    /// What `counted` counts; none where that is not known of one of them.
    measures: Option<Vec<Measure>>,
    entry: Option<&'a Entry>,
}

/// Runs that arrive, at which rates.
pub(crate) struct Cast {
    pub(crate) runs: Runs,
    rates: Vec<Steady>,
    /// Longest run, microseconds.
    longest: i64,
    /// Calls a minute, all workflows together.
    pub(crate) calls_per_min: f64,
}

/// A run and what it does on the stage.
type Measured<'a> = (&'a SampledRun, Vec<Step>);

/// One workflow's arrivals.
struct Steady {
    per_minute: f64,
    bursts: Vec<Burst>,
}

impl<'a> Stage<'a> {
    /// One dimension of one pool.
    pub(crate) fn one(context: &'a Context<'a>, pool: &PoolId, counted: &Counted) -> Self {
        let pools = vec![Staged::new(context, pool.clone(), vec![counted.clone()])];
        Self { context, pools, change: Change::default() }
    }

    /// Pools with all that a minute's limits count there.
    pub(crate) fn of(
        context: &'a Context<'a>,
        pools: impl IntoIterator<Item = (PoolId, Vec<Counted>)>,
    ) -> Self {
        let a_minute = |counted: &Counted| matches!(counted.kind, Kind::PerMinute(_));
        let pools = pools.into_iter();
        let staged = pools
            .map(|(id, counted)| Staged::new(context, id, counted.into_iter().filter(a_minute).collect()));
        Self { context, pools: staged.collect(), change: Change::default() }
    }

    /// The same for runs that are changed.
    pub(crate) fn changed(&self, change: Change) -> Self {
        Self { change, ..self.clone() }
    }

    /// The runs of the workflows that draw on the stage at these rates. `None` where none does, or none
    /// was measured with what it draws.
    pub(crate) fn cast(&self, rates: &Rates<'_>) -> Option<Cast> {
        let mut drawing: Vec<(&str, Steady, Vec<Measured<'_>>)> = Vec::new();
        let running = || rates.iter().filter(|(_, rate)| !rate.per_min.is_zero());
        let most = (RUNS / running().count().max(1)).max(FEWEST_RUNS);
        for (name, rate) in running() {
            if let Some(runs) = self.sample(name, rate.event.as_deref(), most) {
                let per_minute = rate.per_min.to_f64() * self.change.rate_percent as f64 / 100.0;
                drawing.push((name, Steady { per_minute, bursts: bursts(self.context, name) }, runs));
            }
        }
        if drawing.is_empty() {
            return None;
        }
        let mut runs = Runs::new(drawing.iter().map(|(name, ..)| *name));
        let (mut longest, mut calls_per_min) = (0, 0.0);
        for (workflow, (name, steady, sample)) in (0u32..).zip(&drawing) {
            let tier = self.context.tier(name).unwrap_or(LEAST_URGENT);
            let (mut calls, mut drawn) = (0, 0);
            for (run, steps) in self.weighted(sample) {
                let steps = self.change.steps(steps);
                calls += steps.len();
                drawn += 1;
                longest = longest.max(length(run));
                runs.push(&Run { workflow, tier, class: 0, arrival: Micros::ZERO, steps }).ok()?;
            }
            calls_per_min += steady.per_minute * calls as f64 / f64::from(drawn.max(1));
        }
        let rates = drawing.into_iter().map(|(_, steady, _)| steady).collect();
        Some(Cast { runs, rates, longest, calls_per_min })
    }

    /// The limits as their providers enforce them; none where `most` tells none.
    pub(crate) fn world(&self, most: impl Fn(&PoolId, &Counted) -> Option<u64>) -> World {
        let mut world = World::default();
        for Staged { id, counted, .. } in &self.pools {
            let mut quotas = Vec::new();
            for counted in counted {
                if let Some(most) = most(id, counted) {
                    quotas.push(world.quotas.len());
                    world.quotas.push(quota(self.context, id, counted, most));
                }
            }
            world.pools.push(Pool {
                name: id.pool.clone(),
                dimensions: counted.iter().map(|counted| counted.dimension.clone()).collect(),
                quotas,
                ..Pool::default()
            });
        }
        world.pools.push(Pool { name: "elsewhere".to_owned(), ..Pool::default() });
        world
    }

    /// Runs of a workflow, so many at most: the event's own where there are enough, else those of the history; a
    /// run of which a draw on the stage is not known is left out. `None` where none of them draws on the stage.
    fn sample(&self, workflow: &str, event: Option<&str>, most: usize) -> Option<Vec<Measured<'a>>> {
        let of = |event: Option<&str>| -> Vec<Measured<'a>> {
            let all = self.context.index.runs(workflow, event).iter();
            all.filter_map(|run| Some((*run, steps(run, |call| self.route(call))?))).take(most).collect()
        };
        let own = event.map(|event| of(Some(event))).filter(|own| own.len() as u64 >= ENOUGH_EVENT_RUNS);
        let runs = own.unwrap_or_else(|| of(None));
        let draws = |call: &SampledCall| self.pools.iter().any(|pool| is_on(&pool.id, call));
        runs.iter().any(|(run, _)| run.calls.iter().any(draws)).then_some(runs)
    }

    /// Runs as often as they are to be drawn.
    fn weighted<'s>(&self, sample: &'s [Measured<'a>]) -> Vec<&'s Measured<'a>> {
        let mut runs: Vec<_> = sample.iter().collect();
        if self.change.tail_times > 1 {
            let mut largest = runs.clone();
            largest.sort_by_key(|(run, _)| std::cmp::Reverse(run.calls.len()));
            largest.truncate(sample.len().div_ceil(10));
            runs.extend(std::iter::repeat_n(largest, self.change.tail_times - 1).flatten());
        }
        runs
    }

    /// Place of the pool that a call goes to: its own, or the one in its place where that is gone.
    fn pool_of(&self, call: &SampledCall) -> Option<usize> {
        let lost = self.change.lost.as_ref().filter(|(lost, _)| is_on(lost, call));
        self.pools.iter().position(|pool| match lost {
            None => is_on(&pool.id, call),
            Some((_, instead)) => pool.id == *instead,
        })
    }

    /// Where a call goes, and what it draws there; `None` where it comes on stage and what it used is
    /// unknown.
    fn route(&self, call: &SampledCall) -> Option<Route> {
        let at = self.pool_of(call);
        let (draws, nano_usd) = match at.and_then(|at| self.pools.get(at)) {
            None => (Vec::new(), 0),
            Some(pool) => {
                let used = self.change.used(used(call)?);
                let metered = metered(pool.entry, &used);
                let draws = pool.measures.as_ref()?.iter().map(|measure| Draw {
                    admission: metered.admission.amount(*measure),
                    settlement: metered.settlement.amount(*measure),
                });
                let usd = pool.entry.and_then(|entry| entry.cost(&used, self.context.today));
                (draws.collect(), usd.and_then(nano_usd).unwrap_or(0))
            }
        };
        Some(Route {
            pool: u32::try_from(at.unwrap_or(self.pools.len())).ok()?,
            draws,
            latency: micros(call.latency_us),
            ttft: call.ttft_us.map(micros),
            nano_usd,
        })
    }
}

impl<'a> Staged<'a> {
    fn new(context: &'a Context<'a>, id: PoolId, counted: Vec<Counted>) -> Self {
        let entry = context.entry(&id.pool);
        let measures = counted.iter().map(measure).collect();
        Self { id, counted, measures, entry }
    }
}

/// What a call draws: by the catalog's row; without one, plainly.
fn metered(entry: Option<&Entry>, used: &Call) -> Metered {
    match entry {
        Some(entry) => entry.meter(used),
        None => {
            let plain = plimsoll_catalog::Draw::plain(used);
            Metered { admission: plain, settlement: plain, ..Metered::default() }
        }
    }
}

/// What a minute's limit counts.
fn measure(counted: &Counted) -> Option<Measure> {
    let Kind::PerMinute(measure) = &counted.kind else { return None };
    Measure::ALL.into_iter().find(|known| known.to_string() == *measure)
}

/// Billionths of a dollar, rounded once.
pub(crate) fn nano_usd(usd: Decimal) -> Option<u64> {
    usd.checked_mul(Decimal::from(1_000_000_000))?.round().to_u64()
}

impl Cast {
    /// Arrivals over so many minutes once the pools have filled up: one case for each seed from 1 on.
    pub(crate) fn cases(&self, minutes: f64, seeds: u64) -> Option<Vec<Case>> {
        let warm_up = micros(self.longest).min(Micros(WARM_UP * Micros::MINUTE.0));
        let until = Micros(warm_up.0 + (minutes * Micros::MINUTE.0 as f64) as u64);
        let rates: Vec<Rate> = (0u32..)
            .zip(&self.rates)
            .map(|(workflow, steady)| Rate {
                bursts: steady.bursts.clone(),
                ..Rate::steady(workflow, Micros::ZERO, until, steady.per_minute)
            })
            .collect();
        let case = |seed| {
            let arrivals = Arrivals::resampled(&self.runs, &rates, seed).ok()?;
            Some((arrivals, Settings { from: warm_up, seed, ..Settings::until(until) }))
        };
        (1..=seeds).map(case).collect()
    }
}

fn is_on(pool: &PoolId, call: &SampledCall) -> bool {
    call.pool == pool.pool && call.account == pool.account && call.region == pool.region
}

/// A limit as its provider enforces it.
pub(crate) fn quota(context: &Context<'_>, id: &PoolId, counted: &Counted, most: u64) -> Quota {
    let entry = context.entry(&id.pool);
    let described = entry.and_then(|entry| entry.dimension(&counted.dimension));
    let window = Window(counted.window_s);
    let rule = match described.and_then(|dimension| dimension.enforcement) {
        Some(Enforcement::TokenBucket) => Rule::Token { window, burst: None },
        Some(Enforcement::FixedWindow) => Rule::Fixed { window },
        Some(Enforcement::LeakyBucket) => Rule::Leaky { window },
        // No source tells: no rule asks for more than this one.
        None => Rule::Sliding { window },
    };
    Quota {
        dimension: counted.dimension.clone(),
        most,
        rule,
        slice: described.and_then(|dimension| dimension.slice_s).map(Window),
        refused_count: entry.is_some_and(|entry| entry.meter.refused != Refused::Free),
    }
}

/// Length of a run from its start to the end of its last call, microseconds.
fn length(run: &SampledRun) -> i64 {
    run.calls.iter().map(|call| call.start_us.saturating_add(call.latency_us)).max().unwrap_or(0)
}

/// How unevenly a workflow's runs arrive, by its busiest hour.
pub(crate) fn bursts(context: &Context<'_>, workflow: &str) -> Vec<Burst> {
    let Some(workflow) = context.workflow(workflow) else { return Vec::new() };
    let starts: BTreeMap<u32, u64> =
        workflow.busy_seconds.iter().map(|busy| (busy.second, busy.starts)).collect();
    let seconds: Vec<u64> = (0..3600).map(|second| starts.get(&second).copied().unwrap_or(0)).collect();
    Burst::measure(&seconds)
}
