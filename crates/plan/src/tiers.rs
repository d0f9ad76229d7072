//! Floors of each tier in each pool: what a gateway keeps for the tiers that cannot wait, and whom they may
//! borrow from.
//!
//! A floor is what the tier needs where it draws most, by replaying it alone; without a replay its percentile.
//! Tiers 2 and 3 share what is left, and tier 3 is shed first. Leaves the file that a gateway loads to
//! `broker_policy`. The invariant: tier 0's floor is never lent.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use crate::TierPlan;
use crate::context::{Context, PoolId};
use crate::demand::{Counted, Kind, calls_inside, demand};
use crate::need::Needed;
use crate::pools::{PoolWork, all_counted};
use crate::quantity::Quantity;
use crate::queue::poisson_quantile;
use crate::rates::{Rates, Rhythm};
use crate::replayed::replayed;
use crate::timeline::{Instants, Timeline};

/// Longest wait of a call by tier, seconds: an answer, a deadline, an hour's batch, a night.
const MAX_WAIT_S: [u64; 4] = [2, 60, 900, 28_800];

/// Tier of a workflow that nobody gave one: internal work, neither favoured nor shed.
pub(crate) const MIDDLE: u8 = 2;

/// Tiers with a floor; the others share the rest.
const WITH_FLOOR: [u8; 2] = [0, 1];

/// One row per pool and tier that draws on it.
pub(crate) fn tiers(
    context: &Context<'_>,
    rhythm: &Rhythm<'_>,
    instants: &Instants,
    pools: &[PoolWork],
) -> Vec<TierPlan> {
    let counted: BTreeMap<PoolId, Vec<Counted>> = all_counted(context).into_iter().collect();
    let of = |pool: &PoolWork| {
        let counted = counted.get(&pool.id).map(Vec::as_slice).unwrap_or_default();
        let drawing = context.index.drawing(&pool.id).iter();
        let drawing: BTreeMap<&str, u8> =
            drawing.map(|workflow| (workflow.workflow.as_str(), tier(context, &workflow.workflow))).collect();
        // Only floors ask what runs when.
        let line = if drawing.values().any(|tier| WITH_FLOOR.contains(tier)) {
            instants.of(context, rhythm, &drawing.keys().copied().collect())
        } else {
            Timeline::default()
        };
        Keeper { context, line, pool, counted, drawing }.tiers()
    };
    pools.par_iter().flat_map_iter(of).collect()
}

fn tier(context: &Context<'_>, workflow: &str) -> u8 {
    context.tier(workflow).unwrap_or(MIDDLE).min(3)
}

struct Keeper<'k> {
    context: &'k Context<'k>,
    /// What runs when of the workflows that draw on the pool.
    line: Timeline<'k>,
    pool: &'k PoolWork,
    counted: &'k [Counted],
    /// Those workflows with their tiers.
    drawing: BTreeMap<&'k str, u8>,
}

impl Keeper<'_> {
    fn tiers(&self) -> Vec<TierPlan> {
        let Some(binding) = self.pool.binding().filter(|bound| bound.demand.is_some()) else {
            return Vec::new();
        };
        let row = |tier: u8| {
            let has_floor = WITH_FLOOR.contains(&tier);
            let floors = if has_floor { self.floors(tier) } else { BTreeMap::new() };
            TierPlan {
                pool: self.pool.id.pool.clone(),
                account: self.pool.plan.account.clone(),
                region: self.pool.plan.region.clone(),
                tier,
                floor_per_min: floors.get(&binding.plan.dimension).copied().unwrap_or(0),
                floor_concurrent: if has_floor { self.concurrent(tier) } else { 0 },
                floors,
                may_borrow: may_borrow(tier),
                max_wait_s: MAX_WAIT_S[usize::from(tier)],
            }
        };
        self.of_tiers().into_iter().map(row).collect()
    }

    /// Tiers that draw on the pool at any time.
    fn of_tiers(&self) -> BTreeSet<u8> {
        self.drawing.values().copied().collect()
    }

    fn is_of(&self, workflow: &str, tier: u8) -> bool {
        self.drawing.get(workflow) == Some(&tier)
    }

    /// What a tier needs of each limit of a minute.
    fn floors(&self, tier: u8) -> BTreeMap<String, u64> {
        let minute = |counted: &&Counted| matches!(counted.kind, Kind::PerMinute(_));
        let floor = |counted: &Counted| {
            let needed = self.pool.needed.iter().find(|needed| needed.plan.dimension == counted.dimension)?;
            let floor = if self.of_tiers().len() == 1 { alone(needed) } else { self.among(tier, counted) }?;
            Some((counted.dimension.clone(), floor))
        };
        self.counted.iter().filter(minute).filter_map(floor).filter(|(_, floor)| *floor > 0).collect()
    }

    /// What a tier needs of a limit that it shares with others, where it draws most.
    fn among(&self, tier: u8, counted: &Counted) -> Option<u64> {
        let (percentile, rates) = self.peak(tier, counted)?;
        let replay = if self.context.input.quick {
            None
        } else {
            replayed(self.context, &self.pool.id, counted, &rates)
        };
        Some(replay.map_or_else(|| percentile.ceil(), |replay| replay.most))
    }

    /// The rates of a tier's workflows where their percentile draw is largest, and that draw.
    fn peak(&self, tier: u8, counted: &Counted) -> Option<(Quantity, Rates<'_>)> {
        let of_tier = |rates: &Rates<'_>| {
            let demand = demand(self.context, &self.pool.id, counted, rates)?;
            let parts = demand.parts.iter().filter(|part| self.is_of(&part.workflow, tier));
            Some(parts.map(|part| part.floor.clone()).sum::<Quantity>())
        };
        let sums = self.line.states.iter().filter_map(|rates| Some((of_tier(rates)?, rates)));
        let (sum, rates) = sums.fold(None, |best: Option<(Quantity, &Rates<'_>)>, one| match best {
            Some(best) if best.0 >= one.0 => Some(best),
            _ => Some(one),
        })?;
        let own = rates.iter().filter(|(name, _)| self.is_of(name, tier));
        Some((sum, own.map(|(name, rate)| (*name, rate.clone())).collect()))
    }

    /// Calls that a tier has inside the pool where it makes most, P95.
    fn concurrent(&self, tier: u8) -> u64 {
        let requests = Counted::named("requests_per_min");
        let inside = self.peak(tier, &requests).and_then(|(_, rates)| {
            let demand = demand(self.context, &self.pool.id, &requests, &rates)?;
            calls_inside(self.context, &self.pool.id, &demand.mean)
        });
        inside.map_or(0, |inside| poisson_quantile(inside.to_f64(), 0.95))
    }
}

/// What the only tier of a pool needs: the need itself, by replay where there is one.
fn alone(needed: &Needed) -> Option<u64> {
    let demand = needed.demand.as_ref()?;
    Some(needed.plan.replayed.unwrap_or_else(|| demand.floor.ceil()))
}

/// Tiers whose unused floor a tier may take: those below it.
fn may_borrow(tier: u8) -> Vec<u8> {
    (tier + 1..=3).collect()
}
