//! An instant of the horizon, or a stretch of the past as it was, replayed at the limits of that day or at
//! others: who is throttled, who waits, what is in flight, and whether a plan held.
//!
//! Every pool that runs draw on is on stage at once, each with all that its limits count by the minute.
//! Leaves the search for a limit to `replayed`, and what is told of it to `rehearsed`. The invariant: a limit
//! that nobody gave is no limit here, and the rehearsal says so.

use std::collections::BTreeSet;

use jiff::Timestamp;
use jiff::civil::Date;
use plimsoll_replay::{Arrivals, Case, Micros, Replay, ReplayError, Runs, Settings, World, replay_all};
use thiserror::Error;

use crate::broker_policy::BrokerPolicy;
use crate::client::ClientRules;
use crate::context::{Context, PlanError, PlanInput, PoolId};
use crate::demand::Counted;
use crate::index::spilling;
use crate::pools::{all_counted, counted, limit_on};
use crate::rates::{Rates, Rhythm};
use crate::rehearsed::{Played, Rehearsed};
use crate::stage::Stage;
use crate::{Plan, SampledRun};

/// What to replay.
#[derive(Debug, Clone, PartialEq)]
pub struct Rehearsal {
    /// An instant or a stretch.
    pub what: Scene,
    /// How often: each time with arrivals of its own, or, for a stretch, with other luck in its retries.
    pub seeds: u32,
    /// Limits in place of those of the day, or of the plan.
    pub limits: Vec<LimitInstead>,
    /// Slots, queues, retries and failover in place of what was measured.
    pub client: ClientRules,
    /// A token broker's policy to enforce.
    pub policy: Option<BrokerPolicy>,
    /// A plan whose limits are taken, those that it asks for first, and which is held against what happens.
    pub plan: Option<Plan>,
}

/// An instant or a stretch.
#[derive(Debug, Clone, PartialEq)]
pub enum Scene {
    /// Measured runs at the rates of an instant.
    Instant {
        /// The instant whose rates are replayed, for the whole of `minutes`; inside an event whose course is
        /// known, the busiest minutes of it.
        at: Timestamp,
        /// How long, after the pools have filled up.
        minutes: u32,
    },
    /// Runs as they were recorded, each at its time.
    Stretch {
        /// First counted instant; what was under way then fills the pools.
        from: Timestamp,
        /// First instant after it.
        to: Timestamp,
        /// Every run that was under way.
        runs: Vec<SampledRun>,
    },
}

/// A limit in place of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitInstead {
    /// Pool key.
    pub pool: String,
    /// Dimension; `concurrent` for calls that the provider runs at once.
    pub dimension: String,
    /// Most that may be drawn in its window.
    pub most: u64,
}

/// Why nothing was replayed.
#[derive(Debug, Error)]
pub enum RehearsalError {
    /// As for a plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Nothing runs at the instant, or what runs was not measured.
    #[error(
        "no workflow with measured runs has a rate at {0}: choose an instant or an event at which something runs"
    )]
    Nothing(Timestamp),
    /// Nothing ran in the stretch.
    #[error(
        "no run whose use is known was under way from {from} to {to}: choose a stretch in which something ran"
    )]
    Silence {
        /// Its first instant.
        from: Timestamp,
        /// The first after it.
        to: Timestamp,
    },
    /// A limit of a pool or a dimension that is not there.
    #[error("no measured run draws {dimension} of {pool}: name a pool and a dimension of the plan")]
    Unknown {
        /// Pool, as it was written.
        pool: String,
        /// Dimension, as it was written.
        dimension: String,
    },
    /// Slots of something that no run calls.
    #[error("no measured run calls {name}: name a pool or a tool of the measured runs")]
    NoStation {
        /// As it was written.
        name: String,
    },
    /// Slots of a class that no run is of.
    #[error("no measured run is of class {class}: name a request class of the measured runs")]
    NoClass {
        /// As it was written.
        class: String,
    },
    /// The replay itself.
    #[error(transparent)]
    Replay(#[from] ReplayError),
}

/// Replays an instant or a stretch.
///
/// # Errors
/// [`RehearsalError`], which says what to change.
pub fn rehearse(
    input: &PlanInput<'_>,
    asked: &Rehearsal,
    threads: usize,
) -> Result<Rehearsed, RehearsalError> {
    let context = Context::new(input)?;
    let rhythm = Rhythm::new(&context)?;
    let theatre = Theatre::new(&context, asked)?;
    let at = match asked.what {
        Scene::Instant { at, .. } => at,
        Scene::Stretch { from, .. } => from,
    };
    let world = theatre.world(input.calendar.local_date(at))?;
    let (runs, cases, rates, unknown) = match &asked.what {
        Scene::Instant { at, minutes } => {
            let rates = rhythm.at(*at);
            let (runs, cases) = theatre.instant(&rates, *at, *minutes)?;
            (runs, cases, rates, 0)
        }
        Scene::Stretch { from, to, runs } => {
            let (runs, cases, unknown) = theatre.stretch(*from, *to, runs)?;
            (runs, cases, Rates::new(), unknown)
        }
    };
    let outcomes = replay_all(&Replay::new(&world, &runs)?, &cases, threads)?;
    let played = Played { context: &context, asked, at, world: &world, rates, unknown };
    played.told(outcomes).ok_or(RehearsalError::Nothing(at))
}

/// The stage with all that is asked for.
struct Theatre<'a> {
    context: &'a Context<'a>,
    asked: &'a Rehearsal,
    pools: Vec<(PoolId, Vec<Counted>)>,
    client: ClientRules,
    stage: Stage<'a>,
}

impl<'a> Theatre<'a> {
    fn new(context: &'a Context<'a>, asked: &'a Rehearsal) -> Result<Self, RehearsalError> {
        let mut pools = all_counted(context);
        for instead in &asked.limits {
            let counts = |counted: &[Counted]| {
                instead.dimension == "concurrent"
                    || counted.iter().any(|counted| counted.dimension == instead.dimension)
            };
            if !pools.iter().any(|(id, counted)| id.pool == instead.pool && counts(counted)) {
                let (pool, dimension) = (instead.pool.clone(), instead.dimension.clone());
                return Err(RehearsalError::Unknown { pool, dimension });
            }
        }
        let client = match &asked.policy {
            Some(policy) => policy.client(&asked.client),
            None => asked.client.clone(),
        };
        let mut props = client.props(context);
        props.failover |= asked.policy.as_ref().is_some_and(BrokerPolicy::fails_over);
        if props.failover {
            pools.extend(unseen_fallbacks(context));
        }
        let stage = Stage::of(context, pools.clone()).with(props);
        Ok(Self { context, asked, pools, client, stage })
    }

    /// The limit that is replayed: set, else the plan's, else of the day.
    fn limit(&self, id: &PoolId, counted: &Counted, day: Date) -> Option<u64> {
        let set = self
            .asked
            .limits
            .iter()
            .rfind(|instead| instead.pool == id.pool && instead.dimension == counted.dimension);
        let planned = || {
            let pools = &self.asked.plan.as_ref()?.pools;
            let pool = pools.iter().find(|pool| self.context.is_of(pool, id))?;
            let row = pool.dimensions.iter().find(|row| row.dimension == counted.dimension)?;
            row.ask.or(row.limit)
        };
        set.map(|set| set.most).or_else(planned).or_else(|| limit_on(self.context, id, counted, day))
    }

    /// Limits, slots, retries and shares.
    fn world(&self, day: Date) -> Result<World, RehearsalError> {
        let mut world = self.stage.world(|id, counted| self.limit(id, counted, day));
        let concurrent = Counted::named("concurrent");
        let recorded = match &self.asked.what {
            Scene::Stretch { runs, .. } => spilling(runs),
            Scene::Instant { .. } => BTreeSet::new(),
        };
        for (pool, (id, _)) in world.pools.iter_mut().zip(&self.pools) {
            let most = self.limit(id, &concurrent, day);
            pool.hidden_concurrent = most.map(|most| u32::try_from(most).unwrap_or(u32::MAX));
            if recorded.contains(id) {
                pool.failover_after = Some(1);
            }
        }
        // Slots first, since a policy's floors are shares of them.
        self.client.set_slots(self.context, &mut world)?;
        if let Some(policy) = &self.asked.policy {
            let resolved = |(id, _): &(PoolId, Vec<Counted>)| PoolId {
                pool: id.pool.clone(),
                account: self.context.account(id),
                region: self.context.region(id),
            };
            let ids: Vec<PoolId> = self.pools.iter().map(resolved).collect();
            policy.set(&mut world, &ids);
        }
        self.client.set_rules(&mut world);
        Ok(world)
    }

    fn instant(
        &self,
        rates: &Rates<'_>,
        at: Timestamp,
        minutes: u32,
    ) -> Result<(Runs, Vec<Case>), RehearsalError> {
        let cast = self.stage.cast(rates).ok_or(RehearsalError::Nothing(at))?;
        let cases = cast.cases(f64::from(minutes), u64::from(self.asked.seeds));
        let cases = cases.ok_or(RehearsalError::Nothing(at))?;
        Ok((cast.runs, cases))
    }

    fn stretch(
        &self,
        from: Timestamp,
        to: Timestamp,
        runs: &[SampledRun],
    ) -> Result<(Runs, Vec<Case>, u64), RehearsalError> {
        let (runs, unknown) = self.stage.recorded(runs);
        if runs.is_empty() {
            return Err(RehearsalError::Silence { from, to });
        }
        let micros = |at: Timestamp| Micros(u64::try_from(at.as_microsecond()).unwrap_or(0));
        let arrivals = Arrivals::recorded(&runs);
        let case = |seed| {
            let settings = Settings { from: micros(from), until: micros(to), seed, streams: true };
            (arrivals.clone(), settings)
        };
        let cases = (1..=u64::from(self.asked.seeds)).map(case).collect();
        Ok((runs, cases, unknown))
    }
}

/// Pools that only a fallback names: no limit of theirs is given, and no run was seen there.
fn unseen_fallbacks(context: &Context<'_>) -> Vec<(PoolId, Vec<Counted>)> {
    let known = context.pools();
    let mut found: Vec<(PoolId, Vec<Counted>)> = Vec::new();
    for pool in &context.spec().pools {
        let Some(fallback) = &pool.fallback else { continue };
        let is = |id: &PoolId| id.pool == fallback.pool;
        if !known.iter().any(is) && !found.iter().any(|(id, _)| is(id)) {
            let id = PoolId::of(&fallback.pool, pool.account.as_ref(), None);
            let counted = counted(context, &id);
            found.push((id, counted));
        }
    }
    found
}
