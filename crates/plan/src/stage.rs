//! What an instant looks like to a replay: runs of the workflows that draw, and the limits they meet.
//!
//! Some pools are on stage, with some of their dimensions; what runs do elsewhere takes the time that it
//! took. Leaves searching and telling to whoever replays. The invariant: a run is on stage only where all
//! that it draws there is known.

use std::collections::BTreeMap;

use plimsoll_catalog::{Call, Enforcement, Entry, Measure, Metered, Refused};
use plimsoll_replay::{
    Arrivals, Burst, Case, Draw, Micros, Pool, Quota, Rate, Route, Rule, Run, Runs, Settings, Window, World,
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

/// Tier of a workflow that nobody gave one.
const LEAST_URGENT: u8 = 3;

/// Pools with the dimensions that are looked at.
#[derive(Clone)]
pub(crate) struct Stage {
    pools: Vec<(PoolId, Vec<Counted>)>,
    change: Change,
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

/// One workflow's arrivals.
struct Steady {
    per_minute: f64,
    bursts: Vec<Burst>,
}

impl Stage {
    /// One dimension of one pool.
    pub(crate) fn one(pool: &PoolId, counted: &Counted) -> Self {
        Self { pools: vec![(pool.clone(), vec![counted.clone()])], change: Change::default() }
    }

    /// Pools with all that a minute's limits count there.
    pub(crate) fn of(pools: impl IntoIterator<Item = (PoolId, Vec<Counted>)>) -> Self {
        let a_minute = |counted: &Counted| matches!(counted.kind, Kind::PerMinute(_));
        let pools = pools.into_iter();
        let kept = pools.map(|(id, counted)| (id, counted.into_iter().filter(a_minute).collect()));
        Self { pools: kept.collect(), change: Change::default() }
    }

    /// The same for runs that are changed.
    pub(crate) fn changed(&self, change: Change) -> Self {
        Self { change, ..self.clone() }
    }

    /// The runs of the workflows that draw on the stage at these rates. `None` where none does, or none
    /// was measured with what it draws.
    pub(crate) fn cast(&self, context: &Context<'_>, rates: &Rates<'_>) -> Option<Cast> {
        let mut drawing: Vec<(&str, Steady, Vec<&SampledRun>)> = Vec::new();
        for (name, rate) in rates.iter().filter(|(_, rate)| !rate.per_min.is_zero()) {
            if let Some(runs) = self.sample(context, name, rate.event.as_deref()) {
                let per_minute = rate.per_min.to_f64() * self.change.rate_percent as f64 / 100.0;
                drawing.push((name, Steady { per_minute, bursts: bursts(context, name) }, runs));
            }
        }
        if drawing.is_empty() {
            return None;
        }
        let mut runs = Runs::new(drawing.iter().map(|(name, ..)| *name));
        let (mut longest, mut calls_per_min) = (0, 0.0);
        for (workflow, (name, steady, sample)) in (0u32..).zip(&drawing) {
            let tier = context.tier(name).unwrap_or(LEAST_URGENT);
            let (mut calls, mut drawn) = (0, 0);
            for run in self.weighted(sample) {
                let steps = self.change.steps(steps(run, |call| self.route(context, call))?);
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
    pub(crate) fn world(
        &self,
        context: &Context<'_>,
        most: impl Fn(&PoolId, &Counted) -> Option<u64>,
    ) -> World {
        let mut world = World::default();
        for (id, counted) in &self.pools {
            let mut quotas = Vec::new();
            for counted in counted {
                if let Some(most) = most(id, counted) {
                    quotas.push(world.quotas.len());
                    world.quotas.push(quota(context, id, counted, most));
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

    /// Runs of a workflow: the event's own where there are enough, else those of the history. `None`
    /// where none of them draws on the stage.
    fn sample<'a>(
        &self,
        context: &Context<'a>,
        workflow: &str,
        event: Option<&str>,
    ) -> Option<Vec<&'a SampledRun>> {
        let known = |run: &&SampledRun| run.calls.iter().all(|call| self.route(context, call).is_some());
        let of = |event: Option<&str>| -> Vec<&'a SampledRun> {
            let all = context.measured().sampled_runs.iter();
            all.filter(|run| run.workflow == workflow && run.event.as_deref() == event)
                .filter(known)
                .collect()
        };
        let own = event.map(|event| of(Some(event))).filter(|own| own.len() as u64 >= ENOUGH_EVENT_RUNS);
        let runs = own.unwrap_or_else(|| of(None));
        let draws = |call: &SampledCall| self.pools.iter().any(|(pool, _)| is_on(pool, call));
        runs.iter().any(|run| run.calls.iter().any(draws)).then_some(runs)
    }

    /// Runs as often as they are to be drawn.
    fn weighted<'a>(&self, sample: &[&'a SampledRun]) -> Vec<&'a SampledRun> {
        let mut runs = sample.to_vec();
        if self.change.tail_times > 1 {
            let mut largest = sample.to_vec();
            largest.sort_by_key(|run| std::cmp::Reverse(run.calls.len()));
            largest.truncate(sample.len().div_ceil(10));
            runs.extend(std::iter::repeat_n(largest, self.change.tail_times - 1).flatten());
        }
        runs
    }

    /// The pool that a call goes to: its own, or the one in its place where that is gone.
    fn pool_of(&self, call: &SampledCall) -> Option<&(PoolId, Vec<Counted>)> {
        let own = |(pool, _): &&(PoolId, Vec<Counted>)| is_on(pool, call);
        let instead =
            self.change.lost.as_ref().filter(|(lost, _)| is_on(lost, call)).map(|(_, instead)| instead);
        match instead {
            None => self.pools.iter().find(own),
            Some(instead) => self.pools.iter().find(|(pool, _)| pool == instead),
        }
    }

    /// Where a call goes, and what it draws there; `None` where it comes on stage and what it used is
    /// unknown.
    fn route(&self, context: &Context<'_>, call: &SampledCall) -> Option<Route> {
        let here = self.pool_of(call);
        let at = here.and_then(|here| self.pools.iter().position(|pool| std::ptr::eq(pool, here)));
        let (draws, nano_usd) = match here {
            None => (Vec::new(), 0),
            Some((pool, counted)) => {
                let (used, entry) = (self.change.used(used(call)?), context.entry(&pool.pool));
                let metered = metered(entry, &used);
                let draws = counted.iter().map(|counted| draw(counted, &metered)).collect::<Option<_>>()?;
                (draws, entry.and_then(|entry| nano_usd(entry.cost(&used, context.today)?)).unwrap_or(0))
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

fn draw(counted: &Counted, metered: &Metered) -> Option<Draw> {
    let Kind::PerMinute(measure) = &counted.kind else { return None };
    let measure = Measure::ALL.into_iter().find(|known| known.to_string() == *measure)?;
    Some(Draw {
        admission: metered.admission.amount(measure),
        settlement: metered.settlement.amount(measure),
    })
}

/// Billionths of a dollar, rounded once.
fn nano_usd(usd: Decimal) -> Option<u64> {
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
fn quota(context: &Context<'_>, id: &PoolId, counted: &Counted, most: u64) -> Quota {
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
fn bursts(context: &Context<'_>, workflow: &str) -> Vec<Burst> {
    let Some(workflow) = context.workflow(workflow) else { return Vec::new() };
    let starts: BTreeMap<u32, u64> =
        workflow.busy_seconds.iter().map(|busy| (busy.second, busy.starts)).collect();
    let seconds: Vec<u64> = (0..3600).map(|second| starts.get(&second).copied().unwrap_or(0)).collect();
    Burst::measure(&seconds)
}
