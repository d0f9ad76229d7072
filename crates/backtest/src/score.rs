//! Plans held against what came after them.
//!
//! Leaves making them to [`crate::need`] and to the planner. The invariants: every window and every call
//! that is counted lies behind the origin of the plan that it is held against; windows are compared with
//! the need itself, without headroom.

use plimsoll_replay::{Arrivals, Pool, Replay, ReplayError, Runs, Settings, World};
use serde::Serialize;

use crate::error::BacktestError;
use crate::trace::Trace;

/// How a need came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Measured runs, replayed at the rates of a coming peak.
    Replay,
    /// P95 draw per run times runs per minute.
    P95,
}

/// A plan made at an origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Issued {
    /// Place of the first held-out window.
    pub origin: usize,
    /// Most that any window behind it will ask for, as the plan has it.
    pub need: u64,
}

/// What became of the plans of one method.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Score {
    /// Trace.
    pub trace: String,
    /// What the limit counts.
    pub dimension: String,
    /// How the needs came about.
    pub method: Method,
    /// Held-out windows of 60 s, over all origins.
    pub windows: u64,
    /// Of those, windows whose demand is within the need of their origin.
    pub covered: u64,
    /// Median over origins of need / largest held-out window; null where nothing was held out that draws.
    pub over_provision: Option<f64>,
    /// Share of the held-out operations that a limit of the need would have throttled.
    pub throttled_share: f64,
    /// The same by tier, in ascending order.
    pub tiers: Vec<TierScore>,
    /// By origin, earliest first.
    pub origins: Vec<OriginScore>,
    /// Requests that were held against each other, and those of the history that they were sampled from.
    pub requests: u64,
    /// Requests of the whole history.
    pub of: u64,
}

/// The operations of a tier.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TierScore {
    /// Its number.
    pub tier: u8,
    /// Held-out operations, over all origins.
    pub operations: u64,
    /// Of those, throttled at the need.
    pub throttled: u64,
    /// `throttled` over `operations`; nothing of none.
    pub throttled_share: f64,
}

/// One origin.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OriginScore {
    /// Minutes of history before it.
    pub minutes_before: u64,
    /// The need.
    pub need: u64,
    /// Held-out windows.
    pub windows: u64,
    /// Of those, windows within the need.
    pub covered: u64,
    /// Largest held-out window.
    pub largest: u64,
}

/// Holds plans against the rest of a trace: windows, and a replay of the calls as they came.
///
/// # Errors
/// [`BacktestError::Replay`] where the calls cannot be replayed.
pub fn score(trace: &Trace, method: Method, issued: &[Issued]) -> Result<Score, BacktestError> {
    let demand = trace.demand();
    let origins: Vec<OriginScore> = issued.iter().map(|plan| origin(&demand, *plan)).collect();
    let tiers = throttled(trace, issued)
        .map_err(|source| BacktestError::Replay { trace: trace.name.clone(), source })?;
    let (operations, refused) =
        tiers.iter().fold((0, 0), |sum, tier| (sum.0 + tier.operations, sum.1 + tier.throttled));
    Ok(Score {
        trace: trace.name.clone(),
        dimension: trace.quota.dimension.clone(),
        method,
        windows: origins.iter().map(|origin| origin.windows).sum(),
        covered: origins.iter().map(|origin| origin.covered).sum(),
        over_provision: median(&origins),
        throttled_share: share(refused, operations),
        tiers,
        origins,
        requests: trace.calls.len() as u64,
        of: trace.of,
    })
}

fn origin(demand: &[u64], plan: Issued) -> OriginScore {
    let rest = demand.get(plan.origin..).unwrap_or_default();
    OriginScore {
        minutes_before: plan.origin as u64,
        need: plan.need,
        windows: rest.len() as u64,
        covered: rest.iter().filter(|demand| **demand <= plan.need).count() as u64,
        largest: rest.iter().copied().max().unwrap_or(0),
    }
}

/// Median of need / largest window.
fn median(origins: &[OriginScore]) -> Option<f64> {
    let with_demand = origins.iter().filter(|origin| origin.largest > 0);
    let mut ratios: Vec<f64> = with_demand.map(|origin| origin.need as f64 / origin.largest as f64).collect();
    ratios.sort_unstable_by(f64::total_cmp);
    let (low, high) = (ratios.get(ratios.len().checked_sub(1)? / 2)?, ratios.get(ratios.len() / 2)?);
    Some(f64::midpoint(*low, *high))
}

/// What a limit of each need would have throttled of the calls behind its origin, as they came.
fn throttled(trace: &Trace, issued: &[Issued]) -> Result<Vec<TierScore>, ReplayError> {
    let world = world(trace);
    let runs = recorded(trace)?;
    let replay = Replay::new(&world, &runs)?;
    let arrivals = Arrivals::recorded(&runs);
    let mut tiers: Vec<TierScore> = Vec::new();
    for plan in issued {
        let (from, until) = (trace.period.start(plan.origin), trace.period.end());
        let settings = Settings { from, ..Settings::until(until) };
        let rest = arrivals.between(from, until);
        let outcome = replay.with_most(0, plan.need).run(&rest, settings)?;
        for tier in outcome.tiers {
            let at = tiers.binary_search_by_key(&tier.tier, |known| known.tier).unwrap_or_else(|at| {
                let new = TierScore { tier: tier.tier, operations: 0, throttled: 0, throttled_share: 0.0 };
                tiers.insert(at, new);
                at
            });
            if let Some(known) = tiers.get_mut(at) {
                known.operations += tier.summary.operations;
                known.throttled += tier.summary.throttled;
            }
        }
    }
    for tier in &mut tiers {
        tier.throttled_share = share(tier.throttled, tier.operations);
    }
    Ok(tiers)
}

/// One pool with one limit.
pub(crate) fn world(trace: &Trace) -> World {
    let pool = Pool {
        name: trace.name.clone(),
        dimensions: vec![trace.quota.dimension.clone()],
        quotas: vec![0],
        ..Pool::default()
    };
    World { quotas: vec![trace.quota.clone()], pools: vec![pool], ..World::default() }
}

/// Every call as it came.
fn recorded(trace: &Trace) -> Result<Runs, ReplayError> {
    let mut runs = Runs::new([trace.name.as_str()]);
    for call in &trace.calls {
        runs.push(&call.run())?;
    }
    Ok(runs)
}

fn share(part: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { part as f64 / all as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: of four held-out windows two exceed a need of 10; the median of three ratios is the
    /// middle one, an even number's lies between the two.
    #[test]
    fn windows_and_median() {
        let demand = [99, 99, 10, 20, 5, 40];
        let origins: Vec<OriginScore> =
            [(2, 10), (4, 60), (5, 20)].map(|(at, need)| origin(&demand, Issued { origin: at, need })).into();
        assert_eq!(origins.iter().map(|origin| origin.covered).collect::<Vec<_>>(), [2, 2, 0]);
        assert_eq!(origins.iter().map(|origin| origin.largest).collect::<Vec<_>>(), [40; 3]);
        assert_eq!(median(&origins), Some(0.5));
        assert_eq!(median(&origins[..2]), Some(0.875));
        assert_eq!(median(&[]), None);
    }
}
