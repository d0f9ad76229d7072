//! The smallest limit at which a coming instant is served, by replaying measured runs at its rates.
//!
//! Whole runs of the workflows that draw on the pool arrive at the rates of the instant, as unevenly as
//! they were measured to, against the one limit as its provider enforces it; what they do elsewhere takes
//! the time that it took. Leaves headroom to `need`. The invariant: the same input gives the same figure,
//! since seeds are numbers from 1 on and nothing else is left to chance.

use plimsoll_catalog::Enforcement;
use plimsoll_replay::{
    Arrivals, Burst, Case, Draw, Micros, PartsPerMillion, Pool, Quota, Rate, Replay, Route, Rule, Run, Runs,
    Search, Settings, Window, World, need,
};

use crate::context::{Context, PoolId};
use crate::demand::{Counted, ENOUGH_EVENT_RUNS, Kind};
use crate::quantity::Quantity;
use crate::rates::Rates;
use crate::sampled::{micros, steps};
use crate::{ReplayPlan, SampledCall, SampledRun};

/// Times that the same hour is replayed, each with arrivals of its own.
const SEEDS: u64 = 5;

/// Calls that one search looks at in each of its replays, over all seeds; a limit that binds at so many
/// calls is known far better than rates are.
const CALLS: f64 = 200_000.0;

/// Minutes of one replay, at least and at most.
const MINUTES: (f64, f64) = (10.0, 60.0);

/// Longest time in which the pool fills up before anything is counted, minutes.
const WARM_UP: u64 = 30;

/// The pool that is searched; what runs do elsewhere is at [`ELSEWHERE`].
const POOL: u32 = 0;
const ELSEWHERE: u32 = 1;

/// Replays a pool's limit at these rates. `None` where there is nothing to replay: a limit that is not
/// of a minute, no sampled runs whose usage is known, or no rate above 0.
pub(crate) fn replayed(
    context: &Context<'_>,
    pool: &PoolId,
    counted: &Counted,
    rates: &Rates<'_>,
) -> Option<ReplayPlan> {
    let Kind::PerMinute(measure) = &counted.kind else { return None };
    let drawing: Vec<Drawing<'_>> = rates
        .iter()
        .filter(|(_, rate)| !rate.per_min.is_zero())
        .filter_map(|(name, rate)| {
            let runs = sample(context, pool, measure, name, rate.event.as_deref())?;
            Some(Drawing { name, per_minute: rate.per_min.to_f64(), runs })
        })
        .collect();
    if drawing.is_empty() {
        return None;
    }
    let mut runs = Runs::new(drawing.iter().map(|each| each.name));
    for (workflow, each) in (0u32..).zip(&drawing) {
        for run in &each.runs {
            let route = |call: &SampledCall| route(pool, measure, call);
            let tier = context.tier(each.name).unwrap_or(LEAST_URGENT);
            let run = Run { workflow, tier, class: 0, arrival: Micros::ZERO, steps: steps(run, route)? };
            runs.push(&run).ok()?;
        }
    }
    let minutes = minutes(&drawing);
    let warm_up = drawing.iter().flat_map(|each| &each.runs).map(|run| length(run)).max().unwrap_or(0);
    let warm_up = micros(warm_up).min(Micros(WARM_UP * Micros::MINUTE.0));
    let until = Micros(warm_up.0 + (minutes * Micros::MINUTE.0 as f64) as u64);
    let arriving: Vec<Rate> = (0u32..)
        .zip(&drawing)
        .map(|(workflow, each)| Rate {
            bursts: bursts(context, each.name),
            ..Rate::steady(workflow, Micros::ZERO, until, each.per_minute)
        })
        .collect();
    let cases: Vec<Case> = (1..=SEEDS)
        .map(|seed| {
            let arrivals = Arrivals::resampled(&runs, &arriving, seed).ok()?;
            Some((arrivals, Settings { from: warm_up, seed, ..Settings::until(until) }))
        })
        .collect::<Option<_>>()?;
    let world = world(context, pool, counted);
    let replay = Replay::new(&world, &runs).ok()?;
    let found = need(&replay, &cases, &Search::new(0, targets(context))).ok()?;
    Some(ReplayPlan {
        most: found.most,
        upper: found.upper,
        minutes: minutes.round() as u64,
        seeds: SEEDS,
        runs: runs.len() as u64,
        operations: found.operations,
        monotone: found.monotone,
    })
}

/// Tier of a workflow that nobody gave one.
const LEAST_URGENT: u8 = 3;

/// A workflow that draws, at its rate, with the runs that stand for it.
struct Drawing<'a> {
    name: &'a str,
    per_minute: f64,
    runs: Vec<&'a SampledRun>,
}

/// Runs of a workflow: the event's own where there are enough, else those of the history. `None` where
/// none of them draws on the pool. A run with a call on the pool whose usage is unknown is left out.
fn sample<'a>(
    context: &Context<'a>,
    pool: &PoolId,
    measure: &str,
    workflow: &str,
    event: Option<&str>,
) -> Option<Vec<&'a SampledRun>> {
    let known = |run: &&SampledRun| {
        run.calls.iter().filter(|call| is_on(pool, call)).all(|call| call.settlement.of(measure).is_some())
    };
    let of = |event: Option<&str>| -> Vec<&'a SampledRun> {
        let sampled = context.measured().sampled_runs.iter();
        sampled.filter(|run| run.workflow == workflow && run.event.as_deref() == event).filter(known).collect()
    };
    let own = event.map(|event| of(Some(event))).filter(|own| own.len() as u64 >= ENOUGH_EVENT_RUNS);
    let runs = own.unwrap_or_else(|| of(None));
    runs.iter().any(|run| run.calls.iter().any(|call| is_on(pool, call))).then_some(runs)
}

fn is_on(pool: &PoolId, call: &SampledCall) -> bool {
    call.pool == pool.pool && call.account == pool.account && call.region == pool.region
}

fn route(pool: &PoolId, measure: &str, call: &SampledCall) -> Option<Route> {
    let (to, draws) = if is_on(pool, call) {
        let amount = |draw: &crate::SampledDraw| draw.of(measure);
        (POOL, vec![Draw { admission: amount(&call.admission)?, settlement: amount(&call.settlement)? }])
    } else {
        (ELSEWHERE, Vec::new())
    };
    Some(Route {
        pool: to,
        draws,
        latency: micros(call.latency_us),
        ttft: call.ttft_us.map(micros),
        nano_usd: 0,
    })
}

/// Length of a run's calls from its start, microseconds.
fn length(run: &SampledRun) -> i64 {
    run.calls.iter().map(|call| call.start_us.saturating_add(call.latency_us)).max().unwrap_or(0)
}

/// How long to replay: an hour, or less where an hour holds more calls than are needed.
fn minutes(drawing: &[Drawing<'_>]) -> f64 {
    let calls_a_minute: f64 = drawing
        .iter()
        .map(|each| {
            let calls: usize = each.runs.iter().map(|run| run.calls.len()).sum();
            each.per_minute * calls as f64 / each.runs.len().max(1) as f64
        })
        .sum();
    (CALLS / SEEDS as f64 / calls_a_minute.max(f64::MIN_POSITIVE)).clamp(MINUTES.0, MINUTES.1)
}

fn bursts(context: &Context<'_>, workflow: &str) -> Vec<Burst> {
    let mut seconds = vec![0; 3600];
    for busy in context.workflow(workflow).map(|workflow| workflow.busy_seconds.as_slice()).unwrap_or_default() {
        if let Some(starts) = seconds.get_mut(busy.second as usize) {
            *starts += busy.starts;
        }
    }
    Burst::measure(&seconds)
}

/// The limit as its provider enforces it, alone.
fn world(context: &Context<'_>, pool: &PoolId, counted: &Counted) -> World {
    let entry = context.entry(&pool.pool);
    let described = entry.and_then(|entry| entry.dimension(&counted.dimension));
    let window = Window(counted.window_s);
    let rule = match described.and_then(|dimension| dimension.enforcement) {
        Some(Enforcement::TokenBucket) => Rule::Token { window, burst: None },
        Some(Enforcement::FixedWindow) => Rule::Fixed { window },
        Some(Enforcement::LeakyBucket) => Rule::Leaky { window },
        // No source tells: no rule asks for more than this one.
        None => Rule::Sliding { window },
    };
    let quota = Quota {
        dimension: counted.dimension.clone(),
        most: 0,
        rule,
        slice: described.and_then(|dimension| dimension.slice_s).map(Window),
        refused_count: entry.is_some_and(|entry| entry.meter.refused != plimsoll_catalog::Refused::Free),
    };
    let searched = Pool {
        name: pool.pool.clone(),
        dimensions: vec![counted.dimension.clone()],
        quotas: vec![0],
        ..Pool::default()
    };
    let elsewhere = Pool { name: "elsewhere".to_owned(), ..Pool::default() };
    World { quotas: vec![quota], pools: vec![searched, elsewhere], ..World::default() }
}

/// Shares of operations that may be throttled, by tier.
fn targets(context: &Context<'_>) -> Vec<PartsPerMillion> {
    let target = &context.spec().policy.throttle_target;
    let million = Quantity::from(1_000_000);
    [&target.tier0, &target.tier1, &target.tier2, &target.tier3]
        .map(|share| PartsPerMillion(u32::try_from((share * &million).floor()).unwrap_or(u32::MAX)))
        .to_vec()
}
