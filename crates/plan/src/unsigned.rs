//! What happens if nothing is signed: each instant that needs a higher limit, replayed at the limits of
//! its day and at those that the plan asks for.
//!
//! Leaves what is asked to `pools` and `need`. The invariants: both replays have the same arrivals, so
//! that the limits are all that differs; a figure over several replays is the worst of them.

use std::collections::BTreeSet;

use jiff::Timestamp;
use plimsoll_replay::{Durations, Outcome, Workflow};
use rayon::prelude::*;

use crate::context::Context;
use crate::need::Needed;
use crate::pools::{PoolWork, all_counted, limit_on, limit_signed};
use crate::rates::Rhythm;
use crate::stage::Stage;
use crate::{UnsignedOutcome, UnsignedPlan, UnsignedWorkflow};

/// Instants that are replayed, the earliest first.
const INSTANTS: usize = 6;

/// Replays of each.
const SEEDS: u64 = 3;

/// Longest that one is replayed, minutes, after the pools have filled up.
const MINUTES: u32 = 60;

/// One row per pool that must be raised, and whose runs can be replayed at that instant.
pub(crate) fn unsigned(context: &Context<'_>, rhythm: &Rhythm<'_>, pools: &[PoolWork]) -> Vec<UnsignedPlan> {
    let stage = Stage::of(context, all_counted(context));
    let mut pressing: Vec<(Timestamp, &PoolWork, &Needed)> = pools
        .iter()
        .filter_map(|pool| {
            let needed = pool.needed.iter().filter(|needed| must_rise(needed));
            let (needed, at) =
                needed.filter_map(|needed| Some((needed, needed.at?))).max_by(|one, other| {
                    let over = |needed: &Needed| {
                        needed.plan.need as f64 / needed.plan.limit.unwrap_or(1).max(1) as f64
                    };
                    over(one.0).total_cmp(&over(other.0))
                })?;
            Some((at, pool, needed))
        })
        .collect();
    pressing.sort_by_key(|(at, pool, _)| (*at, &pool.id));
    let instants: BTreeSet<Timestamp> = pressing.iter().map(|(at, ..)| *at).take(INSTANTS).collect();
    let at_both = |at| Some((at, both(context, rhythm, pools, &stage, at)?));
    let seen: Vec<(Timestamp, Vec<UnsignedWorkflow>)> =
        instants.into_par_iter().filter_map(at_both).collect();
    pressing
        .into_iter()
        .filter_map(|(at, pool, needed)| {
            let (_, workflows) = seen.iter().find(|(seen, _)| *seen == at)?;
            Some(UnsignedPlan {
                pool: pool.id.pool.clone(),
                account: pool.plan.account.clone(),
                region: pool.plan.region.clone(),
                dimension: needed.plan.dimension.clone(),
                event: needed.plan.event.clone(),
                at,
                minutes: MINUTES,
                seeds: SEEDS,
                workflows: workflows.clone(),
            })
        })
        .collect()
}

fn must_rise(needed: &Needed) -> bool {
    matches!(needed.plan.decision.as_str(), "planned" | "file_now" | "late")
}

/// Every workflow at an instant, at the limits of the day and at those asked for.
fn both(
    context: &Context<'_>,
    rhythm: &Rhythm<'_>,
    pools: &[PoolWork],
    stage: &Stage<'_>,
    at: Timestamp,
) -> Option<Vec<UnsignedWorkflow>> {
    let cast = stage.cast(&rhythm.at(at))?;
    let cases = cast.cases(f64::from(MINUTES), SEEDS)?;
    let day = context.input.calendar.local_date(at);
    let of_day = stage.world(|id, counted| limit_on(context, id, counted, day));
    let asked = stage.world(|id, counted| limit_signed(context, pools, id, counted, day));
    let (today, signed) = (cast.played(&of_day, &cases)?, cast.played(&asked, &cases)?);
    let raised: BTreeSet<&str> = pools
        .iter()
        .filter(|pool| pool.needed.iter().any(|needed| needed.plan.ask.is_some()))
        .flat_map(|pool| context.index.drawing(&pool.id))
        .map(|workflow| workflow.workflow.as_str())
        .collect();
    let names = today.first()?.workflows.iter().map(|workflow| (&workflow.workflow, workflow.tier));
    let row = |(name, tier): (&String, u8)| {
        let today = worst(&today, name, tier);
        UnsignedWorkflow {
            workflow: name.clone(),
            tier,
            slo_p95_s: context
                .spec()
                .workflow(name)
                .and_then(|spec| spec.slo.p95_completion)
                .map(|span| span.duration().as_secs()),
            // Whoever draws on nothing that rises has the same limits in both: what differs is how its clients
            // happened to wait.
            asked: if raised.contains(name.as_str()) { worst(&signed, name, tier) } else { today.clone() },
            today,
        }
    };
    Some(names.map(row).collect())
}

/// The worst of several replays, figure by figure.
fn worst(outcomes: &[Outcome], name: &str, tier: u8) -> UnsignedOutcome {
    let of: Vec<&Workflow> = outcomes
        .iter()
        .flat_map(|outcome| &outcome.workflows)
        .filter(|workflow| workflow.workflow == name && workflow.tier == tier)
        .collect();
    let most = |figure: &dyn Fn(&Workflow) -> f64| of.iter().map(|one| figure(one)).fold(0.0, f64::max);
    let share = |part: u64, all: u64| if all == 0 { 0.0 } else { part as f64 / all as f64 };
    let longest = |durations: fn(&Workflow) -> &Durations| {
        of.iter().filter_map(|one| durations(one).p95_ms).reduce(f64::max)
    };
    UnsignedOutcome {
        runs: of.iter().map(|one| one.summary.runs).sum(),
        operations: of.iter().map(|one| one.summary.operations).sum(),
        throttled_share: most(&|one| one.summary.throttled_share),
        lost_share: most(&|one| share(one.summary.runs_failed + one.summary.runs_expired, one.summary.runs)),
        wait_p95_ms: most(&|one| one.summary.wait_p95_ms),
        completion_p95_ms: longest(|one| &one.summary.completion),
        queue_per_min: (most(&|one| one.summary.queue_growth_per_min) * 10.0).round() / 10.0,
    }
}
