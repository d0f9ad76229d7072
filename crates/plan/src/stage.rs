//! What an instant looks like to a replay: runs of the workflows that draw, and the limits they meet.
//!
//! Some pools are on stage, with some of their dimensions; what runs do elsewhere takes the time that it
//! took. Leaves searching and telling to whoever replays. The invariant: a run is on stage only where all
//! that it draws there is known.

use std::collections::BTreeMap;

use plimsoll_catalog::{Call, Enforcement, Entry, Measure, Metered, Refused};
use plimsoll_replay::{
    Burst, Draw, Micros, Pool, PoolKind, Quota, Route, Rule, Run, Runs, Step, Window, World,
};
use rust_decimal::{Decimal, prelude::ToPrimitive};

use crate::SampledRun;
use crate::cast::{Cast, Coming};
use crate::change::Change;
use crate::client::measured_rules;
use crate::context::{Context, PoolId};
use crate::demand::{Counted, ENOUGH_EVENT_RUNS, Kind};
use crate::measured::SampledCall;
use crate::pattern::Pattern;
use crate::rates::{Rate, Rates};
use crate::sampled::{Course, complete, course, length, micros, used};

/// Runs on stage over all workflows, and of each at least: where hundreds of workflows come, no replay draws
/// more different ones.
const RUNS: usize = 10_000;
const FEWEST_RUNS: usize = 20;

/// Tier of a workflow that nobody gave one, in a replay.
pub const LEAST_URGENT: u8 = 3;

/// What every class stands under that has no slots of its own.
const OTHER_CLASSES: &str = "other";

/// Pools with the dimensions that are looked at.
#[derive(Clone)]
pub(crate) struct Stage<'a> {
    context: &'a Context<'a>,
    pools: Vec<Staged<'a>>,
    change: Change,
    props: Props,
}

/// What stands on stage beside pools.
#[derive(Debug, Clone, Default)]
pub(crate) struct Props {
    /// Tools whose calls are calls; those of the others are the agent's own time.
    pub(crate) tools: Vec<String>,
    /// Request classes that are told apart.
    pub(crate) classes: Vec<String>,
    /// Whether a call can go on to the fallback of its pool.
    pub(crate) failover: bool,
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

/// Runs of one workflow as they come on stage.
struct Sample {
    runs: Vec<Drawn>,
    /// Runs that were cut short: completed, and left as they were.
    cut: (u64, u64),
}

/// A run and what it does on the stage.
struct Drawn {
    class: u16,
    steps: Vec<Step>,
}

impl<'a> Stage<'a> {
    /// One dimension of one pool.
    pub(crate) fn one(context: &'a Context<'a>, pool: &PoolId, counted: &Counted) -> Self {
        let pools = vec![Staged::new(context, pool.clone(), vec![counted.clone()])];
        Self { context, pools, change: Change::default(), props: Props::default() }
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
        Self { context, pools: staged.collect(), change: Change::default(), props: Props::default() }
    }

    /// The same with tools, classes and ways to fall back.
    pub(crate) fn with(self, props: Props) -> Self {
        Self { props, ..self }
    }

    /// The same for runs that are changed.
    pub(crate) fn changed(&self, change: Change) -> Self {
        Self { change, ..self.clone() }
    }

    /// The runs of the workflows that draw on the stage at these rates. `None` where none does, or none
    /// was measured with what it draws.
    pub(crate) fn cast(&self, rates: &Rates<'_>) -> Option<Cast> {
        let rates: Vec<_> = rates.iter().filter(|(_, rate)| !rate.per_min.is_zero()).collect();
        let most = (RUNS / rates.len().max(1)).max(FEWEST_RUNS);
        let drawing: Vec<(&str, &Rate, Sample)> = rates
            .into_iter()
            .filter_map(|(name, rate)| Some((*name, rate, self.sample(name, rate.event.as_deref(), most)?)))
            .collect();
        if drawing.is_empty() {
            return None;
        }
        let mut cast = Cast {
            runs: Runs::new(drawing.iter().map(|(name, ..)| *name)),
            rates: Vec::with_capacity(drawing.len()),
            longest: Micros::ZERO,
            calls_per_min: 0.0,
            cut: (0, 0),
        };
        for (workflow, (name, rate, sample)) in (0u32..).zip(&drawing) {
            let tier = self.tier(name);
            let (mut calls, mut drawn) = (0, 0);
            for run in self.weighted(&sample.runs) {
                let steps = self.change.steps(&run.steps);
                calls += steps.len();
                drawn += 1;
                cast.longest = cast.longest.max(length(&steps));
                let run = Run { workflow, tier, class: run.class, arrival: Micros::ZERO, steps };
                cast.runs.push(&run).ok()?;
            }
            let calls = calls as f64 / f64::from(drawn.max(1));
            let per_minute = rate.per_min.to_f64() * self.change.rate_percent as f64 / 100.0;
            let workflow = self.context.workflow(name);
            let pattern = workflow.and_then(|workflow| Pattern::of(workflow, rate));
            let bursts = bursts(self.context, name, pattern.as_ref());
            cast.calls_per_min += per_minute * calls;
            cast.cut = (cast.cut.0 + sample.cut.0, cast.cut.1 + sample.cut.1);
            cast.rates.push(Coming { per_minute, bursts, pattern, calls });
        }
        Some(cast)
    }

    /// Runs as they were recorded, each at its time; those whose draws on the stage are not known are left out,
    /// and counted.
    pub(crate) fn recorded(&self, runs: &[SampledRun]) -> (Runs, u64) {
        let mut names: Vec<&str> = runs.iter().map(|run| run.workflow.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let mut kept = Runs::new(names.iter().copied());
        for (workflow, name) in (0u32..).zip(&names) {
            let of = runs.iter().filter(|run| run.workflow == *name);
            let (of, mut courses): (Vec<&SampledRun>, Vec<Course>) =
                of.filter_map(|run| Some((run, self.course(run)?))).unzip();
            complete(&mut courses);
            for (run, Course { steps, .. }) in of.into_iter().zip(courses) {
                let (tier, class) = (self.tier(name), self.class(run));
                let run = Run { workflow, tier, class, arrival: micros(run.arrival_us), steps };
                // One of which nothing was let in has no steps, did nothing here, and is not taken.
                let _ = kept.push(&run);
            }
        }
        let unknown = (runs.len() - kept.len()) as u64;
        (kept, unknown)
    }

    fn tier(&self, workflow: &str) -> u8 {
        self.context.tier(workflow).unwrap_or(LEAST_URGENT)
    }

    /// Place of a run's class in the world's.
    fn class(&self, run: &SampledRun) -> u16 {
        let place = self.props.classes.iter().position(|class| Some(class) == run.class.as_ref());
        place.and_then(|place| u16::try_from(place + 1).ok()).unwrap_or(0)
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
                failover_after: self.context.index.spills(id).then_some(1),
                ..Pool::default()
            });
        }
        let tools = self.props.tools.iter();
        world.pools.extend(tools.map(|tool| Pool {
            name: tool.clone(),
            kind: PoolKind::Tool,
            ..Pool::default()
        }));
        world.pools.push(Pool { name: "elsewhere".to_owned(), ..Pool::default() });
        world.tiers = measured_rules(self.context);
        let classes = self.props.classes.iter().cloned();
        world.classes = std::iter::once(OTHER_CLASSES.to_owned()).chain(classes).collect();
        world
    }

    /// Runs of a workflow, so many at most: the event's own where there are enough, else those of the history; a
    /// run of which a draw on the stage is not known is left out. `None` where none of them draws on the stage.
    fn sample(&self, workflow: &str, event: Option<&str>, most: usize) -> Option<Sample> {
        let of = |event: Option<&str>| -> (Vec<&SampledRun>, Vec<Course>) {
            let all = self.context.index.runs(workflow, event).iter();
            all.filter_map(|run| Some((*run, self.course(run)?))).take(most).unzip()
        };
        let own = event.map(|event| of(Some(event))).filter(|own| own.0.len() as u64 >= ENOUGH_EVENT_RUNS);
        let (runs, mut courses) = own.unwrap_or_else(|| of(None));
        let draws = |call: &SampledCall| {
            self.asked(call).is_some() || self.pools.iter().any(|pool| is_on(&pool.id, call))
        };
        if !runs.iter().any(|run| run.calls.iter().any(draws)) {
            return None;
        }
        let cut = complete(&mut courses);
        let drawn =
            |(run, course): (&SampledRun, Course)| Drawn { class: self.class(run), steps: course.steps };
        let runs = runs.into_iter().zip(courses).map(drawn).filter(|run| !run.steps.is_empty()).collect();
        Some(Sample { runs, cut })
    }

    /// What a run does on the stage. `None` where a draw is not known.
    fn course(&self, run: &SampledRun) -> Option<Course> {
        let counts = |call: &SampledCall| !call.tool || self.props.tools.contains(&call.pool);
        course(run, counts, |call| self.routes(call))
    }

    /// Runs as often as they are to be drawn.
    fn weighted<'s>(&self, sample: &'s [Drawn]) -> Vec<&'s Drawn> {
        let mut runs: Vec<_> = sample.iter().collect();
        if self.change.tail_times > 1 {
            let mut largest = runs.clone();
            largest.sort_by_key(|run| std::cmp::Reverse(run.steps.len()));
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

    /// Where a call can go: its own place, then the fallbacks of its pool where it may. `None` where it comes on
    /// stage and what it used is unknown.
    fn routes(&self, call: &SampledCall) -> Option<Vec<Route>> {
        if call.tool {
            let tool = self.props.tools.iter().position(|tool| *tool == call.pool)?;
            return Some(vec![plain_route(self.pools.len() + tool, call)?]);
        }
        let asked = self.asked(call);
        let Some(mut at) = asked.or_else(|| self.pool_of(call)) else {
            return Some(vec![plain_route(self.pools.len() + self.props.tools.len(), call)?]);
        };
        let mut places = vec![at];
        // It went on to where it was served, as its client does.
        if let Some(served) = asked.and_then(|_| self.pool_of(call)).filter(|served| *served != at) {
            places.push(served);
            at = served;
        }
        while self.props.failover
            && let Some(next) = self.fallback(at)
            && !places.contains(&next)
        {
            places.push(next);
            at = next;
        }
        places.into_iter().map(|at| self.route(at, call)).collect()
    }

    /// Place of the pool that was asked first, where that did not serve the call: the demand was there.
    fn asked(&self, call: &SampledCall) -> Option<usize> {
        let id = PoolId::asked(call)?;
        let gone = self.change.lost.as_ref().is_some_and(|(lost, _)| *lost == id);
        self.pools.iter().position(|pool| pool.id == id).filter(|_| !gone)
    }

    /// Place of the pool that takes the calls of another when it refuses them.
    fn fallback(&self, of: usize) -> Option<usize> {
        let id = &self.pools.get(of)?.id;
        let key = &self.context.pool_spec(id)?.fallback.as_ref()?.pool;
        let takes = |pool: &Staged<'_>| pool.id.pool == *key;
        let same = |pool: &Staged<'_>| takes(pool) && pool.id.account == id.account;
        self.pools.iter().position(same).or_else(|| self.pools.iter().position(takes))
    }

    /// A call on a pool, and what it draws there.
    fn route(&self, at: usize, call: &SampledCall) -> Option<Route> {
        let pool = self.pools.get(at)?;
        let used = self.change.used(used(call)?);
        let metered = metered(pool.entry, &used);
        let draws = pool.measures.as_ref()?.iter().map(|measure| Draw {
            admission: metered.admission.amount(*measure),
            settlement: metered.settlement.amount(*measure),
        });
        let usd = pool.entry.and_then(|entry| entry.cost(&used, self.context.today));
        let nano_usd = usd.and_then(nano_usd).unwrap_or(0);
        Some(Route { draws: draws.collect(), nano_usd, ..plain_route(at, call)? })
    }
}

/// A call that draws nothing.
fn plain_route(at: usize, call: &SampledCall) -> Option<Route> {
    Some(Route {
        pool: u32::try_from(at).ok()?,
        draws: Vec::new(),
        latency: micros(call.latency_us),
        ttft: call.ttft_us.map(micros),
        nano_usd: 0,
    })
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

/// Dollars of such billionths; `None` where they are more than a number holds.
pub(crate) fn usd(nano_usd: u128) -> Option<Decimal> {
    Decimal::try_from_i128_with_scale(i128::try_from(nano_usd).ok()?, 9).ok()
}

/// Whether a pool served a call.
pub(crate) fn is_on(pool: &PoolId, call: &SampledCall) -> bool {
    !call.tool && call.pool == pool.pool && call.account == pool.account && call.region == pool.region
}

/// A limit as its provider enforces it.
pub(crate) fn quota(context: &Context<'_>, id: &PoolId, counted: &Counted, most: u64) -> Quota {
    let entry = context.entry(&id.pool);
    let described = entry.and_then(|entry| entry.dimension(&counted.dimension));
    let answered = context.pool_spec(id).and_then(|spec| spec.failed_attempts_count.0.as_deref());
    let window = Window(counted.window_s);
    let rule = match described.and_then(|dimension| dimension.enforcement) {
        Some(Enforcement::TokenBucket) => {
            Rule::Token { window, burst: context.burst(id, &counted.dimension) }
        }
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
        refused_count: match answered {
            Some("true") => true,
            Some("false") => false,
            _ if context.enforced(id).is_some_and(|seen| seen.refused_free) => false,
            // What nobody knows is taken to count, which asks for more.
            _ => entry.is_some_and(|entry| entry.meter.refused != Refused::Free),
        },
    }
}

/// How unevenly a workflow's runs arrive, by its busiest hour; what the pattern of an event tells of it is no
/// burst.
pub(crate) fn bursts(context: &Context<'_>, workflow: &str, pattern: Option<&Pattern>) -> Vec<Burst> {
    let Some(workflow) = context.workflow(workflow) else { return Vec::new() };
    let starts: BTreeMap<u32, u64> =
        workflow.busy_seconds.iter().map(|busy| (busy.second, busy.starts)).collect();
    let seconds: Vec<u64> = (0..3600).map(|second| starts.get(&second).copied().unwrap_or(0)).collect();
    match pattern {
        Some(pattern) => Burst::measure_within(&seconds, pattern.slot as usize * 60),
        None => Burst::measure(&seconds),
    }
}
