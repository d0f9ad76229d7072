//! Floors of each tier in each pool at its binding instant: what a gateway reserves and lends.
//!
//! The simple version: floors from the P95 draw and from concurrency. The invariant: tier 0's floor
//! is never lent.

use std::collections::BTreeMap;

use crate::TierPlan;
use crate::context::Context;
use crate::pools::PoolWork;
use crate::quantity::Quantity;
use crate::queue::poisson_quantile;

/// Longest wait of a call by tier, seconds: an answer, a deadline, an hour's batch, a night.
const MAX_WAIT_S: [u64; 4] = [2, 60, 900, 28_800];

/// One row per pool and tier that draws on it.
pub(crate) fn tiers(context: &Context<'_>, pools: &[PoolWork]) -> Vec<TierPlan> {
    pools.iter().flat_map(|pool| pool_tiers(context, pool)).collect()
}

fn pool_tiers(context: &Context<'_>, pool: &PoolWork) -> Vec<TierPlan> {
    let Some(demand) = pool.binding().and_then(|bound| bound.demand.as_ref()) else { return Vec::new() };
    let mut floors = BTreeMap::<u8, Quantity>::new();
    for part in &demand.parts {
        // A workflow that nobody gave a tier is planned as internal work: neither favoured nor shed.
        let tier = context.tier(&part.workflow).unwrap_or(2).min(3);
        let floor = floors.entry(tier).or_default();
        *floor = &*floor + &part.floor;
    }
    let inside = pool.plan.concurrency.as_ref().map_or(0.0, |inside| inside.mean);
    floors
        .into_iter()
        .map(|(tier, floor)| {
            let share = floor.over(&demand.floor).map_or(0.0, |share| share.to_f64());
            TierPlan {
                pool: pool.id.pool.clone(),
                tier,
                floor_per_min: floor.ceil(),
                floor_concurrent: poisson_quantile(inside * share, 0.95),
                may_borrow: may_borrow(tier),
                max_wait_s: MAX_WAIT_S[usize::from(tier)],
            }
        })
        .collect()
}

/// Tiers whose unused floor a tier may take: those below it.
fn may_borrow(tier: u8) -> Vec<u8> {
    (tier + 1..=3).collect()
}
