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
use crate::demand::{Counted, Draws, Kind, calls_inside, demand};
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
        let line = if drawing.values().any(|tier| has_floor(*tier)) {
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

/// Where each tier draws most: its percentile draw there, and what runs.
type Peaks<'s, 'k> = BTreeMap<u8, (Quantity, &'s Rates<'k>)>;

impl<'k> Keeper<'k> {
    fn tiers(&self) -> Vec<TierPlan> {
        let Some(binding) = self.pool.binding().filter(|bound| bound.demand.is_some()) else {
            return Vec::new();
        };
        let mut floors = self.floors();
        let requests = Counted::named("requests_per_min");
        let inside = self.peaks(&requests);
        let row = |tier: u8| {
            let floors = floors.remove(&tier).unwrap_or_default();
            TierPlan {
                pool: self.pool.id.pool.clone(),
                account: self.pool.plan.account.clone(),
                region: self.pool.plan.region.clone(),
                tier,
                floor_per_min: floors.get(&binding.plan.dimension).copied().unwrap_or(0),
                floor_concurrent: inside
                    .get(&tier)
                    .map_or(0, |(_, rates)| self.concurrent(&requests, &self.own(tier, rates))),
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

    /// The rates of a tier's workflows alone.
    fn own(&self, tier: u8, rates: &Rates<'k>) -> Rates<'k> {
        let own = rates.iter().filter(|(name, _)| self.is_of(name, tier));
        own.map(|(name, rate)| (*name, rate.clone())).collect()
    }

    /// What each tier with a floor needs of each limit of a minute.
    fn floors(&self) -> BTreeMap<u8, BTreeMap<String, u64>> {
        let of_tiers = self.of_tiers();
        let mut floors = BTreeMap::<u8, BTreeMap<String, u64>>::new();
        let minute = |counted: &&Counted| matches!(counted.kind, Kind::PerMinute(_));
        for counted in self.counted.iter().filter(minute) {
            let needed = self.pool.needed.iter().find(|needed| needed.plan.dimension == counted.dimension);
            let Some(needed) = needed else { continue };
            let of_limit: Vec<(u8, u64)> = match of_tiers.first() {
                Some(only) if of_tiers.len() == 1 => {
                    alone(needed).map(|floor| (*only, floor)).into_iter().collect()
                }
                _ => self.among(counted),
            };
            for (tier, floor) in of_limit.into_iter().filter(|(tier, floor)| *floor > 0 && has_floor(*tier)) {
                floors.entry(tier).or_default().insert(counted.dimension.clone(), floor);
            }
        }
        floors
    }

    /// What each tier needs of a limit that it shares with others, where it draws most.
    fn among(&self, counted: &Counted) -> Vec<(u8, u64)> {
        let need = |(tier, (percentile, rates)): (u8, (Quantity, &Rates<'k>))| {
            let replay = if self.context.input.quick {
                None
            } else {
                replayed(self.context, &self.pool.id, counted, &self.own(tier, rates))
            };
            (tier, replay.map_or_else(|| percentile.ceil(), |replay| replay.most))
        };
        self.peaks(counted).into_iter().map(need).collect()
    }

    /// Where each tier with a floor has its largest percentile draw, of equal ones the earliest.
    fn peaks(&self, counted: &Counted) -> Peaks<'_, 'k> {
        let tiers: Vec<u8> = self.of_tiers().into_iter().filter(|tier| has_floor(*tier)).collect();
        let draws = Draws::new(self.context, &self.pool.id, counted);
        let mut peaks = Peaks::new();
        for rates in &self.line.states {
            let Some(demand) = draws.at(rates) else { continue };
            for tier in &tiers {
                let parts = demand.parts.iter().filter(|part| self.is_of(&part.workflow, *tier));
                let sum = parts.map(|part| part.floor.clone()).sum::<Quantity>();
                if peaks.get(tier).is_none_or(|(most, _)| sum > *most) {
                    peaks.insert(*tier, (sum, rates));
                }
            }
        }
        peaks
    }

    /// Calls inside the pool at these rates, P95.
    fn concurrent(&self, requests: &Counted, rates: &Rates<'_>) -> u64 {
        let demand = demand(self.context, &self.pool.id, requests, rates);
        let inside = demand.and_then(|demand| calls_inside(self.context, &self.pool.id, &demand.mean));
        inside.map_or(0, |inside| poisson_quantile(inside.to_f64(), 0.95))
    }
}

fn has_floor(tier: u8) -> bool {
    WITH_FLOOR.contains(&tier)
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
