//! From which use of a limit on to answer more cheaply, so that it is not exhausted.
//!
//! A step is felt after one window of the limit, over which use is read, and one call, since calls that are
//! under way keep their shape. So each step is taken one such delay before the next, the last of them one delay
//! before exhaustion. How fast demand grows is the event's own: from the hour before to its binding instant,
//! over the length of a run, since runs fill up over one; where only measured minutes tell, from their mean to
//! their percentile within one window. The invariant: a trigger is `1 - growth x minutes /
//! limit`, of figures that stand beside it, and is left out where the event starts beyond it.

use jiff::{SignedDuration, Timestamp};

use crate::context::{Context, PoolId};
use crate::demand::{Counted, Demand, Kind, calls_minutes, demand};
use crate::need::Needed;
use crate::pools::{PoolWork, counted, drawing};
use crate::quantity::Quantity;
use crate::rates::{Rhythm, run_minutes};
use crate::tiers::MIDDLE;
use crate::{DegradationPlan, DegradationStep, WorkflowMeasured};

/// Time before an event at which nothing of it has begun, and in which an ordinary hour turns into the next.
const HOUR: SignedDuration = SignedDuration::from_hours(1);
const HOUR_MINUTES: u64 = 60;

/// One row per limit of a minute that is known and that demand grows towards.
pub(crate) fn degradation(
    context: &Context<'_>,
    rhythm: &Rhythm<'_>,
    pools: &[PoolWork],
) -> Vec<DegradationPlan> {
    let of_pool = |pool: &PoolWork| {
        let counted = counted(context, &pool.id);
        let rows = pool.needed.iter().filter_map(|needed| {
            let counted = counted.iter().find(|counted| counted.dimension == needed.plan.dimension)?;
            row(context, rhythm, &pool.id, counted, needed)
        });
        rows.collect::<Vec<_>>()
    };
    pools.iter().flat_map(of_pool).collect()
}

fn row(
    context: &Context<'_>,
    rhythm: &Rhythm<'_>,
    id: &PoolId,
    counted: &Counted,
    needed: &Needed,
) -> Option<DegradationPlan> {
    let Kind::PerMinute(measure) = &counted.kind else { return None };
    let limit = needed.plan.limit.filter(|limit| *limit > 0)?;
    let after = needed.demand.as_ref()?;
    let window = Quantity::ratio(counted.window_s, 60)?;
    let (from, ramp) = match needed.at {
        Some(at) => before(context, rhythm, (id, counted), needed, at)?,
        // Measured minutes know of no hour: one may be as busy as the percentile right after one like the mean.
        None => (after.mean.clone(), window.clone()),
    };
    let growth = (after.floor > from).then(|| after.floor.clone() - from.clone())?.over(&ramp)?;
    let felt = window + calls_minutes(context, id).unwrap_or_default();
    let workflows = by_urgency(context, after);
    let mut steps = applicable(measure, &workflows);
    let count = steps.len() as u64;
    for (step, left) in steps.iter_mut().zip((1..=count).rev()) {
        let minutes = &felt * &left.into();
        let use_of = Quantity::one() - (&growth * &minutes).over(&limit.into())?;
        step.minutes = minutes.rounded();
        step.utilization = (&use_of * &limit.into() > from).then(|| use_of.rounded());
    }
    Some(DegradationPlan {
        pool: id.pool.clone(),
        account: context.account(id),
        region: context.region(id),
        dimension: counted.dimension.clone(),
        event: needed.plan.event.clone(),
        limit,
        from_demand: from.ceil(),
        to_demand: after.floor.ceil(),
        ramp_minutes: ramp.rounded(),
        growth_per_min: growth.rounded(),
        felt_after_minutes: felt.rounded(),
        exhausts: after.floor > limit.into(),
        steps,
    })
}

/// The demand an hour before an instant, or before the event that it lies in, and the minutes in which it grows
/// to what it is then.
fn before(
    context: &Context<'_>,
    rhythm: &Rhythm<'_>,
    (id, counted): (&PoolId, &Counted),
    needed: &Needed,
    at: Timestamp,
) -> Option<(Quantity, Quantity)> {
    let after = needed.demand.as_ref()?;
    let start = window_start(context, needed, at);
    let hour = start.unwrap_or(at).checked_sub(HOUR).ok()?;
    let rates = rhythm.of(hour, &rhythm.active(hour), &drawing(context, id));
    let from =
        demand(context, id, counted, &rates).map_or_else(Quantity::zero, |before| floor_of(&before, after));
    let ramp = match start {
        Some(_) => ramp_minutes(context, needed, after)?,
        None => Quantity::from(HOUR_MINUTES),
    };
    Some((from, ramp))
}

/// Start of the event's window that an instant lies in; none in ordinary hours.
fn window_start(context: &Context<'_>, needed: &Needed, at: Timestamp) -> Option<Timestamp> {
    let event = needed.plan.event.as_ref()?;
    let coming = context.windows.coming.iter().filter(|coming| coming.event == *event);
    let mut windows = coming.flat_map(|coming| &coming.windows);
    windows.find(|(start, end)| *start <= at && at < *end).map(|(start, _)| *start)
}

/// The floor by the stage that binds at the peak, so that like is compared with like.
fn floor_of(before: &Demand, after: &Demand) -> Quantity {
    let stage = if after.basis == "admission" { &before.admission } else { &before.settlement };
    stage.clone().unwrap_or_else(|| before.floor.clone())
}

/// The mean length of a run of the workflow that draws most of those that the event moves, minutes.
fn ramp_minutes(context: &Context<'_>, needed: &Needed, after: &Demand) -> Option<Quantity> {
    let event = needed.plan.event.as_ref()?;
    let moved = context.spec().events.iter().find(|spec| spec.name == *event)?;
    let part = after.parts.iter().find(|part| moved.workflows.contains_key(&part.workflow))?;
    run_minutes(context.workflow(&part.workflow)?, event).map(|(minutes, _)| minutes)
}

/// Workflows that draw, least urgent first; of one tier the largest first.
fn by_urgency<'c>(context: &'c Context<'_>, demand: &Demand) -> Vec<&'c WorkflowMeasured> {
    let parts = demand.parts.iter().filter(|part| !part.floor.is_zero());
    let mut workflows: Vec<&WorkflowMeasured> =
        parts.filter_map(|part| context.workflow(&part.workflow)).collect();
    workflows.sort_by_key(|workflow| std::cmp::Reverse(context.tier(&workflow.workflow).unwrap_or(MIDDLE)));
    workflows
}

/// The steps that bear on a limit, mildest first (PLANNING, section 10).
fn applicable(measure: &str, workflows: &[&WorkflowMeasured]) -> Vec<DegradationStep> {
    let step = |step: &str, of: &[&WorkflowMeasured], detail: String| DegradationStep {
        step: step.to_owned(),
        utilization: None,
        minutes: 0.0,
        workflows: of.iter().map(|workflow| workflow.workflow.clone()).collect(),
        detail,
    };
    let largest = |name: &str, of: &WorkflowMeasured| of.metrics.get(name).map_or(0, |stat| stat.max);
    let mut steps = Vec::new();
    if ["output_tokens", "tokens"].contains(&measure) {
        let median = workflows
            .iter()
            .filter(|of| of.output_per_call.n > 0)
            .map(|of| format!("{} for {}", of.output_per_call.p50.ceil(), of.workflow));
        let caps: Vec<String> = median.collect();
        let told =
            if caps.is_empty() { String::new() } else { format!(": to the median, {}", caps.join(", ")) };
        steps.push(step("shorten_output", workflows, format!("lower the cap on output{told}")));
    }
    if ["input_tokens", "tokens"].contains(&measure) {
        let detail = "retrieve half as many passages, and cut what is carried from step to step".to_owned();
        steps.push(step("cut_context", workflows, detail));
    }
    let parallel: Vec<&WorkflowMeasured> =
        workflows.iter().copied().filter(|of| largest("max_parallel_tools", of) > 1).collect();
    if !parallel.is_empty() {
        let most = parallel.iter().map(|of| largest("max_parallel_tools", of)).max().unwrap_or(0);
        let detail = format!(
            "call tools one after another (up to {most} ran at once), so that runs want their next call later"
        );
        steps.push(step("stop_parallel_tools", &parallel, detail));
    }
    let detail = "send calls that a smaller model can answer to one with a limit of its own".to_owned();
    steps.push(step("smaller_model", workflows, detail));
    let detail = "take new runs into a queue and answer later, the least urgent first".to_owned();
    steps.push(step("go_async", workflows, detail));
    let detail = "reject new runs with retry-after, the least urgent first".to_owned();
    steps.push(step("reject", workflows, detail));
    steps
}
