//! What runs are replayed against: quotas, pools, and the rules of tiers.
//!
//! Leaves runs to [`Runs`]. The invariant: a [`World`] that was checked against its runs
//! leads to no index that is not there.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::broker::Broker;
use crate::error::ReplayError;
use crate::quota::{Quota, Rule};
use crate::retry::Retry;
use crate::runs::{Runs, StepRecord};
use crate::time::Micros;

/// Quotas, pools and tiers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct World {
    /// Classes of calls, such as interactive and background; with none, every run is of class 0.
    #[serde(default)]
    pub classes: Vec<String>,
    /// Limits. A pool names those that bind its calls.
    pub quotas: Vec<Quota>,
    /// Where calls go: model pools and tools.
    pub pools: Vec<Pool>,
    /// What holds for the calls of a tier, where it is not the default.
    #[serde(default)]
    pub tiers: BTreeMap<u8, TierRules>,
}

/// A station that serves calls: a pool of a provider, or a tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// Its key, or the tool's name.
    pub name: String,
    /// Model pool or tool.
    #[serde(default)]
    pub kind: PoolKind,
    /// What calls of it are metered by, in the order of their draws.
    #[serde(default)]
    pub dimensions: Vec<String>,
    /// Which of [`World::quotas`] bind its calls.
    #[serde(default)]
    pub quotas: Vec<usize>,
    /// Most calls that the provider runs at once; it refuses more, published or not.
    #[serde(default)]
    pub hidden_concurrent: Option<u32>,
    /// Most calls that the client sends at once; more wait in the queue.
    #[serde(default)]
    pub slots: Option<u32>,
    /// Most calls of a class, by its place in [`World::classes`], that the client sends at once.
    #[serde(default)]
    pub class_slots: BTreeMap<u16, u32>,
    /// A token broker in front of the pool, which holds calls back rather than have them refused.
    #[serde(default)]
    pub broker: Option<Broker>,
    /// After how many refusals a call goes to its next route, where it has one; never where absent. One that may
    /// not wait any longer, or that the broker never lets in, goes there too.
    #[serde(default)]
    pub failover_after: Option<u32>,
}

/// Model pool or tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PoolKind {
    /// A pool of a provider.
    #[default]
    Model,
    /// A tool, which has slots at most.
    Tool,
}

/// What holds for the calls of a tier.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TierRules {
    /// Longest time that a call waits at a pool, in the queue and between attempts, before it goes on to the
    /// next, where it can, or expires.
    #[serde(default)]
    pub max_wait: Option<Micros>,
    /// How its client retries.
    #[serde(default)]
    pub retry: Retry,
}

impl Pool {
    /// Which of [`World::quotas`] limits a dimension of it; none where none does.
    #[must_use]
    pub fn quota_of(&self, quotas: &[Quota], dimension: &str) -> Option<usize> {
        let of = |at: &usize| quotas.get(*at).is_some_and(|quota| quota.dimension == dimension);
        self.quotas.iter().copied().find(of)
    }
}

impl World {
    /// Whether these runs can be replayed against it.
    ///
    /// # Errors
    /// The first thing that does not fit, in words that say what to change.
    pub fn check(&self, runs: &Runs) -> Result<(), ReplayError> {
        self.quotas.iter().try_for_each(check_quota)?;
        self.pools.iter().try_for_each(|pool| self.check_pool(pool))?;
        self.tiers.values().try_for_each(|rules| rules.retry.check())?;
        self.check_runs(runs)
    }

    fn check_pool(&self, pool: &Pool) -> Result<(), ReplayError> {
        for &quota in &pool.quotas {
            let Some(found) = self.quotas.get(quota) else {
                return Err(ReplayError::Quota { pool: pool.name.clone(), quota, quotas: self.quotas.len() });
            };
            if !pool.dimensions.contains(&found.dimension) {
                let (pool, dimension) = (pool.name.clone(), found.dimension.clone());
                return Err(ReplayError::Dimension { pool, dimension });
            }
        }
        pool.broker.as_ref().map_or(Ok(()), |broker| broker.check(pool))
    }

    fn check_runs(&self, runs: &Runs) -> Result<(), ReplayError> {
        let classes = self.classes.len().max(1);
        for (run, head) in runs.heads().iter().enumerate() {
            if usize::from(head.class) >= classes {
                return Err(ReplayError::Class { run, class: head.class, classes });
            }
            for step in runs.steps(head) {
                self.check_routes(step)?;
            }
        }
        Ok(())
    }

    /// A call draws what its pool meters, and may not come back to a pool that it left.
    fn check_routes(&self, step: StepRecord<'_>) -> Result<(), ReplayError> {
        u8::try_from(step.routes()).map_err(|_| ReplayError::TooMany)?;
        for (at, route) in step.each_route().enumerate() {
            let Some(pool) = self.pools.get(route.pool()) else {
                return Err(ReplayError::Pool { pool: route.pool(), pools: self.pools.len() });
            };
            let (draws, dimensions) = (route.draws(), pool.dimensions.len());
            if draws != dimensions {
                return Err(ReplayError::Draws { pool: pool.name.clone(), draws, dimensions });
            }
            if step.each_route().take(at).any(|earlier| earlier.pool() == route.pool()) {
                return Err(ReplayError::Circle { pool: pool.name.clone() });
            }
        }
        Ok(())
    }
}

impl Pool {
    /// Whether calls may have to wait in its queue before they are sent.
    pub(crate) fn queues(&self) -> bool {
        self.slots.is_some() || !self.class_slots.is_empty() || self.broker.is_some()
    }
}

fn check_quota(quota: &Quota) -> Result<(), ReplayError> {
    let wrong = |what| Err(ReplayError::Rule { dimension: quota.dimension.clone(), what });
    match &quota.rule {
        Rule::Shrinking { windows, .. } if windows.is_empty() => {
            wrong("has a window that shrinks and no length: give at least one")
        }
        Rule::Shrinking { windows, .. }
            if windows.windows(2).any(|pair| pair[0].from_units >= pair[1].from_units) =>
        {
            wrong("has lengths of its window out of order: list them by units, from the fewest")
        }
        Rule::Shrinking { windows, .. } if windows.iter().any(|step| step.window.0 == 0) => {
            wrong("has a window of no length: give it in seconds, at least 1")
        }
        _ if quota.limit().window.0 == 0 => {
            wrong("has a window of no length: give it in seconds, at least 1")
        }
        _ => Ok(()),
    }
}
