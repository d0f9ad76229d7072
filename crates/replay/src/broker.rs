//! The policy of a token broker: what each tier owns of a pool, and of whom it may borrow.
//!
//! Leaves the provider's own limits to [`Quota`](crate::Quota). The invariant: what a tier owns is a
//! bucket of the limit's own kind, and all of them together are the limit, so what the broker lets
//! through, the provider does too; what nobody may borrow, nobody else draws.

mod shares;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub(crate) use shares::{Held, Shares};

use crate::error::ReplayError;
use crate::world::Pool;

/// Shares of one pool. A tier with neither floor nor mention shares in the rest with all such tiers,
/// in the order of their numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Broker {
    /// What is set for tiers, by number.
    pub tiers: BTreeMap<u8, TierShare>,
}

/// What one tier owns, and of whom it may borrow.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TierShare {
    /// What it owns of each quota of the pool, by place in [`World::quotas`](crate::World::quotas),
    /// in the quota's units over the quota's window. A quota without one is shared as the rest.
    #[serde(default)]
    pub floors: BTreeMap<usize, u64>,
    /// How many of the pool's [`slots`](crate::Pool::slots) it owns.
    #[serde(default)]
    pub floor_concurrent: Option<u32>,
    /// Tiers whose unused share it may draw on, in this order.
    #[serde(default)]
    pub may_borrow: Vec<u8>,
}

impl Broker {
    pub(crate) fn check(&self, pool: &Pool) -> Result<(), ReplayError> {
        let wrong = |what| Err(ReplayError::Policy { pool: pool.name.clone(), what });
        for (tier, share) in &self.tiers {
            if share.may_borrow.contains(tier) {
                return wrong(format!("lets tier {tier} borrow from itself: name other tiers"));
            }
            if let Some(quota) = share.floors.keys().find(|quota| !pool.quotas.contains(quota)) {
                return wrong(format!(
                    "has a floor on quota {quota}, which does not bind the pool: leave it out"
                ));
            }
            if share.floor_concurrent.is_some() && pool.slots.is_none() {
                return wrong(format!(
                    "gives tier {tier} slots of a pool without: say how many slots the pool has"
                ));
            }
        }
        let slots: u64 = self.tiers.values().filter_map(|share| share.floor_concurrent).map(u64::from).sum();
        if pool.slots.is_some_and(|all| slots > u64::from(all)) {
            return wrong("has floors of more slots than the pool has: lower the floors".to_owned());
        }
        Ok(())
    }
}
