//! What a replay showed.
//!
//! The invariant: every count is of the measured time, tokens and money are whole numbers, and what
//! was offered is what completed, failed, expired and is still in flight.

use serde::Serialize;

use crate::engine::{Counts, Ends, Engine};
use crate::gauge::Reading;
use crate::little::{Boundary, Little};
use crate::sample::Durations;
use crate::time::Micros;
use crate::world::PoolKind;

/// One replay.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Outcome {
    /// The seed of what was left to chance.
    pub seed: u64,
    /// First measured instant.
    pub from_us: Micros,
    /// First instant after the measured time.
    pub until_us: Micros,
    /// Events that happened, arrivals included.
    pub events: u64,
    /// By tier, in ascending order.
    pub tiers: Vec<Tier>,
    /// By tier and workflow.
    pub workflows: Vec<Workflow>,
    /// By pool and limit.
    pub pools: Vec<PoolLimit>,
    /// By pool.
    pub queues: Vec<PoolQueue>,
    /// Little's law.
    pub little: Little,
    /// Whether everything offered is accounted for.
    pub conserved: bool,
    /// What completed calls cost, in billionths of a dollar.
    pub nano_usd: u128,
}

/// All runs of a tier.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tier {
    /// Its number.
    pub tier: u8,
    /// What happened to its runs and operations.
    #[serde(flatten)]
    pub summary: Summary,
}

/// The runs of a workflow in a tier.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Workflow {
    /// Its name.
    pub workflow: String,
    /// The tier.
    pub tier: u8,
    /// What happened to its runs and operations.
    #[serde(flatten)]
    pub summary: Summary,
}

/// Runs and their operations: an operation is a call, however often it was tried.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// Operations wanted: model calls. Those of tools are told by their queues.
    pub operations: u64,
    /// Of those, turned away at least once by a limit of the provider, or held back by the broker's
    /// share of it.
    pub throttled: u64,
    /// `throttled` over `operations`; nothing of none.
    pub throttled_share: f64,
    /// Operations that ended well.
    pub completed: u64,
    /// Operations refused as often as the client tries, or larger than the limit.
    pub failed: u64,
    /// Operations that waited longer than their tier may.
    pub expired: u64,
    /// Operations that wait or run at the end.
    pub in_flight: u64,
    /// Attempts that the provider refused.
    pub refused_attempts: u64,
    /// Operations that went on to another pool.
    pub failed_over: u64,
    /// 95th percentile of `waits`, in milliseconds, 0 where nothing was wanted.
    pub wait_p95_ms: f64,
    /// From being wanted to being let in, or lost.
    pub waits: Durations,
    /// Runs that arrived.
    pub runs: u64,
    /// Runs whose every step completed.
    pub runs_completed: u64,
    /// Runs of which an operation failed.
    pub runs_failed: u64,
    /// Runs of which an operation expired.
    pub runs_expired: u64,
    /// Runs under way at the end.
    pub runs_in_flight: u64,
    /// From a run's arrival to its end, of those that completed.
    pub completion: Durations,
    /// From a run's arrival to its first token, of those that completed.
    pub ttft: Durations,
    /// Runs under way: mean, 95th percentile and most.
    pub in_flight_mean: f64,
    /// The number of runs under way that 95 % of the time did not exceed.
    pub in_flight_p95: u64,
    /// Most runs under way at once.
    pub in_flight_max: u64,
    /// How many more operations waited with each minute.
    pub queue_growth_per_min: f64,
    /// What its calls cost, in billionths of a dollar.
    pub nano_usd: u128,
}

/// One limit of a pool, or its slice.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PoolLimit {
    /// The pool.
    pub pool: String,
    /// What the limit counts; `concurrent` for calls at once.
    pub dimension: String,
    /// Over how many seconds; 0 for calls at once.
    pub window_s: u32,
    /// Whether it is the proportional share of a shorter window.
    pub slice: bool,
    /// Most that may be drawn in the window.
    pub limit: u64,
    /// Most that was asked for in such a window, each operation once, when it came to the pool, let
    /// through or not. Corrected at the call's end as the limit's own counter is.
    pub peak: u64,
    /// Most that stood in the limit's own counter.
    pub drawn: u64,
    /// Operations that came to the pool.
    pub operations: u64,
    /// Of those, turned away first by this limit.
    pub throttled: u64,
    /// `throttled` over `operations`.
    pub throttled_share: f64,
}

/// What waited at a pool or tool.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PoolQueue {
    /// The pool, or the tool.
    pub pool: String,
    /// Model pool or tool.
    pub kind: PoolKind,
    /// Operations that found no slot of the client's own free. They wait, and are not throttled.
    pub held_for_slots: u64,
    /// Operations that wait: mean, 95th percentile, most.
    pub waiting_mean: f64,
    /// The number waiting that 95 % of the time did not exceed.
    pub waiting_p95: u64,
    /// Most that waited at once.
    pub waiting_max: u64,
    /// How many more waited with each minute.
    pub growth_per_min: f64,
    /// Calls let in: mean, 95th percentile, most.
    pub in_flight_mean: f64,
    /// The number inside that 95 % of the time did not exceed.
    pub in_flight_p95: u64,
    /// Most inside at once.
    pub in_flight_max: u64,
}

fn share(part: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { part as f64 / all as f64 }
}

fn mean(read: Reading) -> f64 {
    read.area as f64 / read.micros as f64
}

fn growth(read: Reading) -> f64 {
    read.grew as f64 / Micros(read.micros).as_minutes()
}

impl Summary {
    fn new(counts: Counts, runs: Reading, waiting: Reading) -> Self {
        let Ends { offered, completed, failed, expired, in_flight } = counts.operations;
        let waits = counts.waits.durations();
        Self {
            operations: offered,
            throttled: counts.throttled,
            throttled_share: share(counts.throttled, offered),
            completed,
            failed,
            expired,
            in_flight,
            refused_attempts: counts.refused,
            failed_over: counts.failed_over,
            wait_p95_ms: waits.p95_ms.unwrap_or(0.0),
            waits,
            runs: counts.runs.offered,
            runs_completed: counts.runs.completed,
            runs_failed: counts.runs.failed,
            runs_expired: counts.runs.expired,
            runs_in_flight: counts.runs.in_flight,
            completion: counts.completion.durations(),
            ttft: counts.ttft.durations(),
            in_flight_mean: mean(runs),
            in_flight_p95: runs.p95,
            in_flight_max: runs.max,
            queue_growth_per_min: growth(waiting),
            nano_usd: counts.nano_usd,
        }
    }
}

impl Outcome {
    pub(crate) fn of(mut engine: Engine<'_>) -> Self {
        let mut boundaries = Vec::new();
        let workflows = workflows(&mut engine, &mut boundaries);
        let tiers = tiers(&mut engine, &mut boundaries);
        let (pools, queues) = pools(&mut engine, &mut boundaries);
        let counts = engine.groups.iter().map(|group| &group.counts);
        let conserved = counts.clone().all(|counts| counts.runs.conserved() && counts.operations.conserved());
        let little = Little { exact: boundaries.iter().all(|boundary| boundary.exact), boundaries };
        debug_assert!(
            little.exact && conserved,
            "levels and stays, or what was offered and what became of it"
        );
        Self {
            seed: engine.settings.seed,
            from_us: engine.settings.from,
            until_us: engine.settings.until,
            events: engine.happened,
            tiers,
            workflows,
            pools,
            queues,
            little,
            conserved,
            nano_usd: counts.map(|counts| counts.nano_usd).sum(),
        }
    }

    /// How many operations were wanted.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.tiers.iter().map(|tier| tier.summary.operations).sum()
    }
}

fn workflows(engine: &mut Engine<'_>, boundaries: &mut Vec<Boundary>) -> Vec<Workflow> {
    let until = engine.settings.until;
    let mut groups = std::mem::take(&mut engine.groups);
    let mut found = Vec::with_capacity(groups.len());
    for (at, group) in groups.iter_mut().enumerate() {
        let runs = group.runs.read(until, engine.still.runs[at]);
        let waiting = group.waiting.read(until, engine.still.waiting[at]);
        let workflow = engine.runs.workflows()[group.workflow as usize].clone();
        let name = format!("{workflow} (tier {})", group.tier);
        boundaries.push(Boundary::new("run", name.clone(), runs));
        boundaries.push(Boundary::new("queue", name, waiting));
        found.push(Workflow {
            workflow,
            tier: group.tier,
            summary: Summary::new(group.counts.clone(), runs, waiting),
        });
    }
    engine.groups = groups;
    found
}

fn tiers(engine: &mut Engine<'_>, boundaries: &mut Vec<Boundary>) -> Vec<Tier> {
    let until = engine.settings.until;
    let mut tiers = std::mem::take(&mut engine.tiers);
    let mut found = Vec::with_capacity(tiers.len());
    for (tier, runs, waiting) in &mut tiers {
        let (mut counts, mut still) = (Counts::default(), (0, 0));
        for (at, group) in engine.groups.iter().enumerate().filter(|(_, group)| group.tier == *tier) {
            counts.add(&group.counts);
            still = (still.0 + engine.still.runs[at], still.1 + engine.still.waiting[at]);
        }
        let (runs, waiting) = (runs.read(until, still.0), waiting.read(until, still.1));
        boundaries.push(Boundary::new("run", format!("tier {tier}"), runs));
        boundaries.push(Boundary::new("queue", format!("tier {tier}"), waiting));
        found.push(Tier { tier: *tier, summary: Summary::new(counts, runs, waiting) });
    }
    engine.tiers = tiers;
    found
}

fn pools(engine: &mut Engine<'_>, boundaries: &mut Vec<Boundary>) -> (Vec<PoolLimit>, Vec<PoolQueue>) {
    let until = engine.settings.until;
    let mut stations = std::mem::take(&mut engine.stations);
    let (mut limits, mut queues) = (Vec::new(), Vec::new());
    for (at, station) in stations.iter_mut().enumerate() {
        let pool = &engine.world.pools[at];
        let [running, waiting, streaming] = engine.still.pools[at];
        let running = station.running.read(until, running);
        let waiting = station.waiting.read(until, waiting);
        let streaming = station.streaming.read(until, streaming);
        let inside = match pool.kind {
            PoolKind::Model => "pool",
            PoolKind::Tool => "tool",
        };
        boundaries.push(Boundary::new(inside, pool.name.clone(), running));
        boundaries.push(Boundary::new("queue", pool.name.clone(), waiting));
        if engine.settings.streams {
            boundaries.push(Boundary::new("stream", pool.name.clone(), streaming));
        }
        for gate in &station.gates {
            let counter = &engine.counters[gate.counter];
            let quota = &engine.world.quotas[counter.quota];
            let limit = quota.limit();
            let limit = limit.enforced().nth(usize::from(counter.slice));
            limits.push(PoolLimit {
                pool: pool.name.clone(),
                dimension: quota.dimension.clone(),
                window_s: counter.window.0,
                slice: counter.slice,
                limit: limit.map_or(quota.most, |(_, most)| most),
                peak: counter.demand.peak(),
                drawn: counter.bucket.peak(),
                operations: station.operations,
                throttled: gate.throttled,
                throttled_share: share(gate.throttled, station.operations),
            });
        }
        if let Some(hidden) = pool.hidden_concurrent {
            limits.push(PoolLimit {
                pool: pool.name.clone(),
                dimension: "concurrent".to_owned(),
                window_s: 0,
                slice: false,
                limit: u64::from(hidden),
                peak: running.max,
                drawn: running.max,
                operations: station.operations,
                throttled: station.hidden_throttled,
                throttled_share: share(station.hidden_throttled, station.operations),
            });
        }
        queues.push(PoolQueue {
            pool: pool.name.clone(),
            kind: pool.kind,
            held_for_slots: station.held_for_slots,
            waiting_mean: mean(waiting),
            waiting_p95: waiting.p95,
            waiting_max: waiting.max,
            growth_per_min: growth(waiting),
            in_flight_mean: mean(running),
            in_flight_p95: running.p95,
            in_flight_max: running.max,
        });
    }
    engine.stations = stations;
    (limits, queues)
}
