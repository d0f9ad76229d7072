//! An instant of the horizon, replayed at the limits of that day or at others: who is throttled, who
//! waits, what is in flight.
//!
//! Every pool that runs draw on is on stage at once, each with all that its limits count by the minute.
//! Leaves the search for a limit to `replayed`. The invariant: a limit that nobody gave is no limit here,
//! and the rehearsal says so.

use jiff::Timestamp;
use plimsoll_replay::{Little, Outcome, PoolLimit, PoolQueue, Replay, ReplayError, Spread, Tier, Workflow};
use plimsoll_replay::{replay_all, spread};
use serde::Serialize;
use thiserror::Error;

use crate::context::{Context, PlanError, PlanInput};
use crate::pools::{all_counted, limit_on};
use crate::rates::Rhythm;
use crate::stage::Stage;

/// What to replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rehearsal {
    /// The instant whose rates are replayed, for the whole of `minutes`.
    pub at: Timestamp,
    /// How long, after the pools have filled up.
    pub minutes: u32,
    /// How often, each time with arrivals of its own.
    pub seeds: u32,
    /// Limits in place of those of the day.
    pub limits: Vec<LimitInstead>,
}

/// A limit in place of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitInstead {
    /// Pool key.
    pub pool: String,
    /// Dimension.
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
    /// A limit of a pool or a dimension that is not there.
    #[error("no measured run draws {dimension} of {pool}: name a pool and a dimension of the plan")]
    Unknown {
        /// Pool, as it was written.
        pool: String,
        /// Dimension, as it was written.
        dimension: String,
    },
    /// The replay itself.
    #[error(transparent)]
    Replay(#[from] ReplayError),
}

/// What a rehearsal showed. Tiers, pools and the law are those of the first seed; `spread` is of all.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rehearsed {
    /// The instant whose rates were replayed.
    pub at: Timestamp,
    /// Minutes that were counted.
    pub minutes: u32,
    /// Replays.
    pub seeds: u32,
    /// What arrived.
    pub rates: Vec<RehearsedRate>,
    /// By tier, in ascending order.
    pub tiers: Vec<Tier>,
    /// By tier and workflow.
    pub workflows: Vec<Workflow>,
    /// By pool and limit.
    pub pools: Vec<PoolLimit>,
    /// What waited at each pool.
    pub queues: Vec<PoolQueue>,
    /// Little's law at every boundary.
    pub little: Little,
    /// Every figure over all seeds.
    pub spread: Vec<Spread>,
    /// Pools and dimensions without a limit: nothing is turned away there.
    pub unlimited: Vec<String>,
}

/// The rate of one workflow.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RehearsedRate {
    /// Its name.
    pub workflow: String,
    /// Runs a minute.
    pub runs_per_min: f64,
    /// Where that comes from: `in_flight`, `runs_per_min`, `measured`, `multiplier`, `hour_of_week`.
    pub from: &'static str,
}

/// Replays an instant.
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
    let rates = rhythm.at(asked.at);
    let pools = all_counted(&context);
    for instead in &asked.limits {
        let known = pools.iter().any(|(id, counted)| {
            id.pool == instead.pool && counted.iter().any(|counted| counted.dimension == instead.dimension)
        });
        if !known {
            let (pool, dimension) = (instead.pool.clone(), instead.dimension.clone());
            return Err(RehearsalError::Unknown { pool, dimension });
        }
    }
    let stage = Stage::of(&context, pools);
    let cast = stage.cast(&rates).ok_or(RehearsalError::Nothing(asked.at))?;
    let day = input.calendar.local_date(asked.at);
    let world = stage.world(|id, counted| {
        let instead = asked
            .limits
            .iter()
            .rfind(|instead| instead.pool == id.pool && instead.dimension == counted.dimension);
        instead.map(|instead| instead.most).or_else(|| limit_on(&context, id, counted, day))
    });
    let cases = cast
        .cases(f64::from(asked.minutes), u64::from(asked.seeds))
        .ok_or(RehearsalError::Nothing(asked.at))?;
    let outcomes = replay_all(&Replay::new(&world, &cast.runs)?, &cases, threads)?;
    let unlimited = world.pools.iter().flat_map(|pool| {
        let open = |dimension: &&String| world.quota_of(pool, dimension).is_none();
        pool.dimensions.iter().filter(open).map(|of| format!("{} {of}", pool.name))
    });
    let spread = spread(&outcomes);
    let Some(Outcome { tiers, workflows, pools, queues, little, .. }) = outcomes.into_iter().next() else {
        return Err(RehearsalError::Nothing(asked.at));
    };
    Ok(Rehearsed {
        at: asked.at,
        minutes: asked.minutes,
        seeds: asked.seeds,
        rates: rates
            .into_iter()
            .filter(|(_, rate)| !rate.per_min.is_zero())
            .map(|(workflow, rate)| RehearsedRate {
                workflow: workflow.to_owned(),
                runs_per_min: rate.per_min.to_f64(),
                from: rate.from,
            })
            .collect(),
        tiers,
        workflows,
        pools,
        queues,
        little,
        spread,
        unlimited: unlimited.collect(),
    })
}
