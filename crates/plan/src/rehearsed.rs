//! What a rehearsal showed, and whether a plan held in it.
//!
//! Leaves replaying to `rehearsal`. The invariant: counts and queues are those of the first seed, verdicts are of
//! the worst, and the spread is of all.

use std::collections::BTreeMap;

use jiff::Timestamp;
use plimsoll_replay::{
    Little, Outcome, PoolLimit, PoolQueue, Spread, Summary, Tier, Workflow, World, spread,
};
use serde::Serialize;

use crate::context::Context;
use crate::rates::Rates;
use crate::rehearsal::{Rehearsal, Scene};
use crate::replayed::targets;
use crate::stage::usd;
use crate::{DimensionPlan, Plan};

/// What a rehearsal showed. Tiers, pools and the law are those of the first seed; `spread` is of all.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rehearsed {
    /// The instant whose rates were replayed, or the first of the stretch.
    pub at: Timestamp,
    /// Minutes that were counted.
    pub minutes: f64,
    /// Replays.
    pub seeds: u32,
    /// The stretch that was replayed as it was; null for an instant.
    pub recorded: Option<RecordedStretch>,
    /// What arrived; of a stretch nothing, since its runs have their own times.
    pub rates: Vec<RehearsedRate>,
    /// By tier, in ascending order.
    pub tiers: Vec<Tier>,
    /// By tier and workflow.
    pub workflows: Vec<Workflow>,
    /// By pool and limit.
    pub pools: Vec<PoolLimit>,
    /// What waited at each pool and tool.
    pub queues: Vec<PoolQueue>,
    /// Little's law at every boundary.
    pub little: Little,
    /// What its calls cost, USD at list price.
    pub cost_usd: String,
    /// Every figure over all seeds.
    pub spread: Vec<Spread>,
    /// Whether each tier was served within the policy's targets under every seed.
    pub served: Vec<TierServed>,
    /// The plan that was held against it; null where none was given.
    pub plan: Option<PlanHeld>,
    /// Pools and dimensions without a limit: nothing is turned away there.
    pub unlimited: Vec<String>,
}

/// A stretch of the past.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecordedStretch {
    /// First instant.
    pub from: Timestamp,
    /// First instant after it.
    pub to: Timestamp,
    /// Runs that were replayed.
    pub runs: u64,
    /// Runs that were left out, since what they used is not known.
    pub left_out: u64,
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

/// Whether a tier was served.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TierServed {
    /// Tier.
    pub tier: u8,
    /// Share of its operations that may be throttled, and that may be lost.
    pub target: f64,
    /// Largest share throttled under any seed.
    pub throttled_share: f64,
    /// Largest share failed or expired under any seed.
    pub lost_share: f64,
    /// Whether both are within the target.
    pub held: bool,
}

/// Whether a plan held.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanHeld {
    /// Its id.
    pub plan_id: String,
    /// Instant that it spoke for.
    pub as_of: Timestamp,
    /// Whether every tier was served within its target at the limits that it asked for.
    pub held: bool,
    /// By pool and dimension that the plan tells a need of.
    pub dimensions: Vec<DimensionHeld>,
}

/// A planned need beside what came.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DimensionHeld {
    /// Pool key.
    pub pool: String,
    /// Dimension.
    pub dimension: String,
    /// Need, with headroom.
    pub need: u64,
    /// Limit that was replayed.
    pub limit: u64,
    /// Most that was asked for in its window, under any seed.
    pub busiest: u64,
    /// Whether the need covers that.
    pub covered: bool,
    /// Need over what was asked for; null where nothing was.
    pub over_provision: Option<f64>,
    /// Largest share throttled under any seed.
    pub throttled_share: f64,
}

/// A replay that has been made.
pub(crate) struct Played<'p> {
    pub(crate) context: &'p Context<'p>,
    pub(crate) asked: &'p Rehearsal,
    pub(crate) at: Timestamp,
    pub(crate) world: &'p World,
    pub(crate) rates: Rates<'p>,
    /// Runs that were left out.
    pub(crate) unknown: u64,
}

impl Played<'_> {
    /// What it showed; `None` where nothing was replayed.
    pub(crate) fn told(self, outcomes: Vec<Outcome>) -> Option<Rehearsed> {
        let served = self.served(&outcomes);
        let plan = self.asked.plan.as_ref().map(|plan| held(plan, &served, &outcomes));
        let spread = spread(&outcomes);
        let first = outcomes.into_iter().next()?;
        let recorded = match &self.asked.what {
            Scene::Instant { .. } => None,
            Scene::Stretch { from, to, runs } => Some(RecordedStretch {
                from: *from,
                to: *to,
                runs: (runs.len() as u64).saturating_sub(self.unknown),
                left_out: self.unknown,
            }),
        };
        let world = self.world;
        let unlimited = world.pools.iter().flat_map(|pool| {
            let open = |dimension: &&String| pool.quota_of(&world.quotas, dimension).is_none();
            pool.dimensions.iter().filter(open).map(|of| format!("{} {of}", pool.name))
        });
        let rates = self.rates.into_iter().filter(|(_, rate)| !rate.per_min.is_zero());
        Some(Rehearsed {
            at: self.at,
            minutes: (first.until_us - first.from_us).as_minutes(),
            seeds: self.asked.seeds,
            recorded,
            rates: rates
                .map(|(workflow, rate)| RehearsedRate {
                    workflow: workflow.to_owned(),
                    runs_per_min: rate.per_min.to_f64(),
                    from: rate.from,
                })
                .collect(),
            cost_usd: format!("{:.2}", usd(first.nano_usd).unwrap_or_default().round_dp(2)),
            tiers: first.tiers,
            workflows: first.workflows,
            pools: first.pools,
            queues: first.queues,
            little: first.little,
            spread,
            served,
            plan,
            unlimited: unlimited.collect(),
        })
    }

    fn served(&self, outcomes: &[Outcome]) -> Vec<TierServed> {
        let targets = targets(self.context);
        let mut worst: BTreeMap<u8, TierServed> = BTreeMap::new();
        for tier in outcomes.iter().flat_map(|outcome| &outcome.tiers) {
            let target = targets.get(usize::from(tier.tier)).or(targets.last());
            let target = target.map_or(0.0, |target| f64::from(target.0) / 1e6);
            let Summary { operations, failed, expired, throttled_share, .. } = tier.summary;
            let lost = if operations == 0 { 0.0 } else { (failed + expired) as f64 / operations as f64 };
            let served = worst.entry(tier.tier).or_insert(TierServed {
                tier: tier.tier,
                target,
                throttled_share: 0.0,
                lost_share: 0.0,
                held: true,
            });
            served.throttled_share = served.throttled_share.max(throttled_share);
            served.lost_share = served.lost_share.max(lost);
            served.held = served.throttled_share <= target && served.lost_share <= target;
        }
        worst.into_values().collect()
    }
}

fn held(plan: &Plan, served: &[TierServed], outcomes: &[Outcome]) -> PlanHeld {
    let mut dimensions = Vec::new();
    for pool in &plan.pools {
        let needed = pool.dimensions.iter().filter(|row| row.need > 0);
        dimensions.extend(needed.filter_map(|row| dimension_held(&pool.pool, row, outcomes)));
    }
    PlanHeld {
        plan_id: plan.plan_id.clone(),
        as_of: plan.as_of,
        held: served.iter().all(|tier| tier.held),
        dimensions,
    }
}

/// `None` where the limit was not replayed.
fn dimension_held(pool: &str, row: &DimensionPlan, outcomes: &[Outcome]) -> Option<DimensionHeld> {
    let of = |limit: &&PoolLimit| limit.pool == pool && limit.dimension == row.dimension && !limit.slice;
    let limits: Vec<&PoolLimit> = outcomes.iter().flat_map(|outcome| &outcome.pools).filter(of).collect();
    let busiest = limits.iter().map(|limit| limit.peak).max()?;
    Some(DimensionHeld {
        pool: pool.to_owned(),
        dimension: row.dimension.clone(),
        need: row.need,
        limit: limits.first()?.limit,
        busiest,
        covered: row.need >= busiest,
        over_provision: (busiest > 0).then(|| row.need as f64 / busiest as f64),
        throttled_share: limits.iter().map(|limit| limit.throttled_share).fold(0.0, f64::max),
    })
}
