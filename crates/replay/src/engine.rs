//! The replay itself: one event after another, from the first arrival to the end.
//!
//! Leaves the arithmetic of limits to [`crate::bucket`], of shares to [`crate::broker`], and what is
//! told of it to [`crate::outcome`]. The invariant: everything that happens follows from runs, world,
//! arrivals and seed; there is one thread, no clock, and no order but that of [`events`].

mod admit;
mod close;
mod events;
mod progress;
mod slots;
mod state;
mod station;
mod tally;

use rand_pcg::Pcg64;
use rand_pcg::rand_core::SeedableRng;
use serde::{Deserialize, Serialize};

use close::Still;
use events::{Event, Events};
use slots::Slots;
pub(crate) use station::{Counter, Station};
pub(crate) use tally::{Counts, Ends, Group};

use crate::arrivals::Arrivals;
use crate::error::ReplayError;
use crate::gauge::Gauge;
use crate::outcome::Outcome;
use crate::queue::LANES;
use crate::runs::Runs;
use crate::time::Micros;
use crate::world::{TierRules, World};

/// What is measured, and the seed of what is left to chance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// What happens before is replayed, but not counted.
    pub from: Micros,
    /// Where the replay stops; what is in flight then is told as such.
    pub until: Micros,
    /// Of the jitter of retries.
    pub seed: u64,
    /// Whether streams are counted as a boundary of their own; costs an event a call.
    pub streams: bool,
}

impl Settings {
    /// From the origin to an instant, with seed 0, without streams.
    #[must_use]
    pub const fn until(until: Micros) -> Self {
        Self { from: Micros::ZERO, until, seed: 0, streams: false }
    }
}

/// Runs and a world that fit each other.
#[derive(Debug, Clone)]
pub struct Replay<'a> {
    pub(crate) world: World,
    pub(crate) runs: &'a Runs,
    /// The pairs of tier and class that call each pool.
    lanes: Vec<Vec<(u8, u16)>>,
}

impl<'a> Replay<'a> {
    /// Holds runs against a world.
    ///
    /// # Errors
    /// Where they do not fit each other; the error says what to change.
    pub fn new(world: &World, runs: &'a Runs) -> Result<Self, ReplayError> {
        world.check(runs)?;
        let mut lanes = vec![Vec::new(); world.pools.len()];
        for head in runs.heads() {
            for step in runs.steps(head) {
                for route in step.each_route() {
                    let lanes: &mut Vec<_> = &mut lanes[route.pool()];
                    if let Err(at) = lanes.binary_search(&(head.tier, head.class)) {
                        lanes.insert(at, (head.tier, head.class));
                    }
                }
            }
        }
        for (pool, lanes) in world.pools.iter().zip(&lanes) {
            if pool.queues() && lanes.len() > LANES {
                return Err(ReplayError::Lanes { pool: pool.name.clone() });
            }
        }
        Ok(Self { world: world.clone(), runs, lanes })
    }

    /// The same with another amount of one quota, by its place.
    #[must_use]
    pub fn with_most(&self, quota: usize, most: u64) -> Self {
        let mut other = self.clone();
        if let Some(quota) = other.world.quotas.get_mut(quota) {
            quota.most = most;
        }
        other
    }

    /// The world that is replayed against.
    #[must_use]
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Replays runs as they arrive.
    ///
    /// # Errors
    /// Where nothing is measured, or there are more calls than can be numbered.
    pub fn run(&self, arrivals: &Arrivals, settings: Settings) -> Result<Outcome, ReplayError> {
        if settings.until <= settings.from {
            return Err(ReplayError::Empty);
        }
        if arrivals.calls(self.runs) >= u64::from(u32::MAX) {
            return Err(ReplayError::TooMany);
        }
        Ok(Engine::new(self, settings).run(arrivals))
    }
}

/// One replay under way.
pub(crate) struct Engine<'a> {
    pub(crate) world: &'a World,
    pub(crate) runs: &'a Runs,
    pub(crate) settings: Settings,
    pub(crate) stations: Vec<Station>,
    pub(crate) counters: Vec<Counter>,
    pub(crate) groups: Vec<Group>,
    /// Runs in flight and calls that wait, by tier in ascending order.
    pub(crate) tiers: Vec<(u8, Gauge, Gauge)>,
    /// Which group each measured run is of.
    group_of: Vec<u32>,
    slots: Slots,
    events: Events,
    random: Pcg64,
    pub(crate) still: Still,
    /// How many events have happened, arrivals included.
    pub(crate) happened: u64,
}

impl<'a> Engine<'a> {
    fn new(replay: &'a Replay<'_>, settings: Settings) -> Self {
        let (world, runs) = (&replay.world, replay.runs);
        let (counters, first) = station::counters(world);
        let stations = world.pools.iter().zip(&replay.lanes);
        let stations = stations.map(|(pool, lanes)| Station::new(pool, world, &first, lanes, settings.from));
        let stations: Vec<Station> = stations.collect();
        let gates = stations.iter().map(|station| station.gates.len()).max().unwrap_or(0);
        let heads = runs.heads();
        let mut tiers: Vec<u8> = heads.iter().map(|head| head.tier).collect();
        tiers.sort_unstable();
        tiers.dedup();
        let mut pairs: Vec<_> = heads.iter().map(|head| (head.tier, head.workflow)).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let default = TierRules::default();
        let group = |&(tier, workflow): &(u8, u32)| {
            let rank = tiers.binary_search(&tier).unwrap_or(0);
            let rules = world.tiers.get(&tier).unwrap_or(&default);
            Group::new(tier, workflow, rank, rules, settings.from)
        };
        let group_of = |pair| pairs.binary_search(&pair).unwrap_or(0) as u32;
        Self {
            world,
            runs,
            settings,
            stations,
            counters,
            groups: pairs.iter().map(group).collect(),
            tiers: tiers
                .iter()
                .map(|&tier| (tier, Gauge::new(settings.from), Gauge::new(settings.from)))
                .collect(),
            group_of: heads.iter().map(|head| group_of((head.tier, head.workflow))).collect(),
            slots: Slots::new(gates),
            events: Events::default(),
            random: Pcg64::seed_from_u64(settings.seed),
            still: Still::default(),
            happened: 0,
        }
    }

    fn run(mut self, arrivals: &Arrivals) -> Outcome {
        // The measure is half open: what happens at its end is not in it.
        let last = self.settings.until - Micros(1);
        for &(at, run) in arrivals.as_slice() {
            if at > last {
                break;
            }
            self.happen_until(at);
            self.happened += 1;
            self.arrive(run, at);
        }
        self.happen_until(last);
        self.close();
        Outcome::of(self)
    }

    fn happen_until(&mut self, last: Micros) {
        while let Some((now, event)) = self.events.pop_until(last) {
            self.happened += 1;
            match event {
                Event::End(call) => self.end(call, now),
                Event::FirstToken(call) => self.speak(call, now),
                Event::Look(pool) => self.look(pool, now),
                Event::Retry(call) => self.retry(call, now),
                Event::Want(call) => self.want_later(call, now),
                Event::Expire(call) => self.expire(call, now),
            }
        }
    }
}
