//! What breaks, when, and for whom, if nothing is signed.

use plimsoll_plan::{DimensionPlan, Plan, PoolPlan};
use serde::Serialize;

use crate::{
    figures::{needs_action, of_minutes, whereabouts},
    format::{about, compact, day_long, ratio},
    local::Local,
    names,
};

/// Most lines; the table of limits has the others.
const MOST: usize = 5;

/// Least share of the need at which a workflow is named.
const WORTH_NAMING: f64 = 0.05;

/// One limit that will not hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Break {
    /// From when: "30 November 2026, 09:00".
    pub(crate) when: String,
    /// What happens.
    pub(crate) text: String,
}

pub(super) fn list(plan: &Plan, local: &Local) -> Vec<Break> {
    // Of one pool only the limit that is passed the farthest: the others follow from it.
    let mut worst: Vec<(&PoolPlan, &DimensionPlan, u64)> = plan
        .pools
        .iter()
        .filter_map(|pool| {
            pool.dimensions
                .iter()
                .filter(|d| needs_action(d))
                .filter_map(|d| Some((pool, d, d.limit?)))
                .max_by(|a, b| over(a.1, a.2).total_cmp(&over(b.1, b.2)))
        })
        .collect();
    worst.sort_by_key(|(_, d, _)| (d.event_start.is_none(), d.event_start));
    worst.into_iter().take(MOST).map(|(pool, d, limit)| describe(plan, pool, d, limit, local)).collect()
}

fn over(dimension: &DimensionPlan, limit: u64) -> f64 {
    dimension.need as f64 / limit.max(1) as f64
}

fn describe(plan: &Plan, pool: &PoolPlan, dimension: &DimensionPlan, limit: u64, local: &Local) -> Break {
    let when = match dimension.event_start {
        Some(start) => format!("{}, {}", day_long(local.day(start)), local.clock(start)),
        None if of_minutes(dimension) => "In busy minutes, already now".to_owned(),
        None => "In the busiest hour of the week".to_owned(),
    };
    let place = whereabouts(&pool.pool, pool.account.as_deref(), pool.region.as_deref());
    let words = names::dimension(&dimension.dimension);
    let (floor, used) = (dimension.p95_floor, dimension.p95_floor as f64 / limit.max(1) as f64);
    let consequence = if floor > limit {
        let refused = 1.0 - limit as f64 / floor as f64;
        format!(
            "P95 demand of {} {words} is {} the limit of {}: about {} of it has to wait or is refused",
            compact(floor as f64),
            ratio(used),
            compact(limit as f64),
            about(refused)
        )
    } else {
        format!(
            "P95 demand of {} {words} fills {} of the limit of {}: no headroom for drift, a spike or retries",
            compact(floor as f64),
            about(used),
            compact(limit as f64)
        )
    };
    let hit = who(plan, pool);
    let fix =
        if dimension.fix_first { "; the setting named above brings it under, without a request" } else { "" };
    let who = if hit.is_empty() { String::new() } else { format!("; it hits {}", hit.join(", ")) };
    Break { when, text: format!("{place}: {consequence}{who}{fix}.") }
}

/// The workflows that draw there, with their tiers.
fn who(plan: &Plan, pool: &PoolPlan) -> Vec<String> {
    let tier = |name: &str| {
        let workflow = plan.workflows.iter().find(|w| w.workflow == name);
        workflow.and_then(|w| w.tier)
    };
    pool.contributors
        .iter()
        .filter(|c| c.share >= WORTH_NAMING)
        .map(|c| match tier(&c.workflow) {
            Some(tier) => format!("{} (tier {tier})", c.workflow),
            None => c.workflow.clone(),
        })
        .collect()
}
