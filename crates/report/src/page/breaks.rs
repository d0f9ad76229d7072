//! What breaks, when, and for whom, if nothing is signed.

use plimsoll_plan::{DimensionPlan, Plan, PoolPlan, UnsignedPlan, UnsignedWorkflow};
use serde::Serialize;

use crate::{
    figures::{needs_action, of_minutes, whereabouts},
    format::{self, about, compact, count, day_long, duration_ms, percent, ratio},
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
    /// Its day alone, or "now".
    #[serde(skip)]
    pub(crate) day: String,
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
    let place = whereabouts(pool);
    let words = names::dimension(&dimension.dimension);
    let (floor, used) = (dimension.p95_floor, dimension.p95_floor as f64 / limit.max(1) as f64);
    let consequence = if floor > limit {
        format!(
            "at P95 the demand of {} {words} is {} the limit of {}, so about {} of it waits or is refused",
            compact(floor as f64),
            ratio(used),
            compact(limit as f64),
            about(1.0 - limit as f64 / floor as f64)
        )
    } else {
        format!(
            "at P95 the demand of {} {words} fills {} of the limit of {}, which leaves no headroom for drift, a spike or retries",
            compact(floor as f64),
            about(used),
            compact(limit as f64)
        )
    };
    let hit = who(plan, pool);
    let who = if hit.is_empty() { String::new() } else { format!("; it hits {}", hit.join(", ")) };
    let rest = if dimension.fix_first {
        " The setting named above brings it under the limit, without a request.".to_owned()
    } else {
        let of_pool =
            |u: &&UnsignedPlan| u.pool == pool.pool && u.account == pool.account && u.region == pool.region;
        plan.unsigned.iter().find(of_pool).map_or_else(String::new, replayed)
    };
    let day = dimension.event_start.map_or_else(|| "now".to_owned(), |start| format::day(local.day(start)));
    Break { when, day, text: format!("{place}: {consequence}{who}.{rest}") }
}

/// What replays of that instant showed, with and without what is asked for.
fn replayed(unsigned: &UnsignedPlan) -> String {
    let n = count(unsigned.seeds, "replay", "replays");
    let harmed: Vec<&UnsignedWorkflow> = unsigned.workflows.iter().filter(|w| is_harmed(w)).collect();
    if harmed.is_empty() {
        return format!(
            " In {n} of measured runs at these rates today\u{2019}s limit refuses no more than the one asked for; P95 is what speaks for it."
        );
    }
    let told: Vec<String> = harmed.iter().map(|w| harm(w)).collect();
    let mut spared: Vec<u8> = unsigned
        .workflows
        .iter()
        .filter(|w| harmed.iter().all(|h| h.tier != w.tier))
        .map(|w| w.tier)
        .collect();
    spared.sort_unstable();
    spared.dedup();
    let spared = match spared.as_slice() {
        [] => String::new(),
        [tier] => format!(" Tier {tier} is not touched."),
        tiers => {
            let tiers: Vec<String> = tiers.iter().map(u8::to_string).collect();
            format!(" Tiers {} are not touched.", tiers.join(", "))
        }
    };
    format!(" In the worst of {n} of measured runs: {}.{spared}", told.join("; "))
}

/// Whether today's limits do more to a workflow than those asked for.
pub(super) fn is_harmed(workflow: &UnsignedWorkflow) -> bool {
    let (today, asked) = (&workflow.today, &workflow.asked);
    today.throttled_share > asked.throttled_share || today.lost_share > asked.lost_share
}

/// What it is, beside what it would be.
fn harm(workflow: &UnsignedWorkflow) -> String {
    let (today, asked) = (&workflow.today, &workflow.asked);
    let mut parts = vec![format!(
        "{} of its calls are refused at first ({} with what is asked for)",
        percent(today.throttled_share),
        percent(asked.throttled_share)
    )];
    if today.lost_share > asked.lost_share {
        parts.push(format!(
            "{} of its runs are lost ({})",
            percent(today.lost_share),
            percent(asked.lost_share)
        ));
    }
    parts.extend(length(workflow));
    format!("{}, tier {}: {}", workflow.workflow, workflow.tier, parts.join(", "))
}

/// How long its runs take; runs that are lost are in no length, so a shorter one with them tells nothing.
fn length(workflow: &UnsignedWorkflow) -> Option<String> {
    let with = workflow.asked.completion_p95_ms?;
    let longer = workflow.today.completion_p95_ms.filter(|today| *today > with);
    let promised = workflow.slo_p95_s.map(|s| s as f64 * 1e3);
    let told = promised.map_or_else(String::new, |ms| format!(", where {} is promised", duration_ms(ms)));
    match longer {
        Some(today) if duration_ms(today) != duration_ms(with) => {
            Some(format!("a run takes {} at P95 ({}){told}", duration_ms(today), duration_ms(with)))
        }
        _ if promised.is_some_and(|ms| with > ms) => {
            Some(format!("even with what is asked for a run takes {} at P95{told}", duration_ms(with)))
        }
        _ => None,
    }
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
