//! What would free quota before any request is filed.
//!
//! Each fix is told in the unit of the limit that it eases, at the instant that binds. Leaves
//! routing and staggering to replay. The invariant: a fix never claims more than the workflow draws.

use plimsoll_catalog::{Combine, Stage, Weights};

use crate::context::{Context, PoolId, mean};
use crate::demand::{Counted, Demand, Kind, per_run};
use crate::need::Needed;
use crate::pools::rates_of;
use crate::quantity::Quantity;
use crate::rates::{Rates, Rhythm};
use crate::spec::Capacity;
use crate::timeline::Timeline;
use crate::{CheaperFix, WorkflowMeasured};

/// Caps come in multiples of this many tokens, so that they read as chosen.
const CAP_STEP: u64 = 64;

/// Setting `max_tokens` to the P99 of outputs plus a quarter, per workflow, where admission reserves
/// more than twice that. What a call reserves is worked out from the two stages of the same calls:
/// `admission - settlement + weighted output`, so it covers caps that are unset and caps that are too
/// large alike. Rates are absent where the demand is the measured busy minutes.
pub(crate) fn max_tokens(
    context: &Context<'_>,
    pool: &PoolId,
    counted: &Counted,
    demand: &Demand,
    rates: Option<&Rates<'_>>,
) -> Vec<CheaperFix> {
    let Kind::PerMinute(measure) = &counted.kind else { return Vec::new() };
    let Some((reserve_weight, output_weight)) = output_weights(context, pool, measure) else {
        return Vec::new();
    };
    if demand.basis != "admission" {
        return Vec::new();
    }
    let fix = |part: &crate::demand::Part| {
        let workflow = context.workflow(&part.workflow)?;
        let event = rates.and_then(|rates| rates.get(part.workflow.as_str())?.event.as_deref());
        let draw = |measure: &str| per_run(context, workflow, pool, measure, event);
        let (admission, settlement) =
            (draw(&format!("admission.{measure}"))?, draw(&format!("settlement.{measure}"))?);
        let calls = draw("admission.requests").or_else(|| draw("settlement.requests"))?;
        let output = mean(&workflow.output_per_call)?;
        // Per call, in tokens of quota.
        let reserved = (&admission.mean - &settlement.mean).over(&calls.mean)? + (&output * &output_weight);
        let cap = cap(workflow)?;
        let needed = &Quantity::from(cap) * &reserve_weight;
        if reserved <= &needed * &2.into() {
            return None;
        }
        // The part of the workflow's own floor that the reservation is: the same calls, less reserve.
        let share = (&(&reserved - &needed) * &calls.mean).over(&admission.mean)?;
        let frees = (&part.floor * &share).floor().min(part.floor.floor());
        (frees > 0).then(|| CheaperFix {
            pool: pool.pool.clone(),
            fix: "max_tokens".to_owned(),
            dimension: counted.dimension.clone(),
            frees,
            workflow: Some(part.workflow.clone()),
            detail: format!(
                "set max_tokens to {cap} in {}: {} calls of {} leave it unset and a call reserves {reserved} at admission, while P99 of outputs is {}",
                part.workflow,
                Quantity::from(workflow.max_tokens_unset.0),
                Quantity::from(workflow.max_tokens_unset.1),
                Quantity::of_percentile(workflow.output_per_call.p99).unwrap_or_default(),
            ),
            owner: context.owner(&part.workflow),
        })
    };
    demand.parts.iter().filter_map(fix).collect()
}

/// P99 of outputs and a quarter of margin, in whole steps; `None` where no output is known.
pub(crate) fn cap(workflow: &WorkflowMeasured) -> Option<u64> {
    let output = &workflow.output_per_call;
    let p99 = Quantity::of_percentile(output.p99).filter(|p99| output.n > 0 && !p99.is_zero())?;
    Some((p99 * Quantity::ratio(5, 4)?).ceil().div_ceil(CAP_STEP) * CAP_STEP)
}

/// What a token of `max_tokens` weighs at admission and one of output at settlement, where calls of
/// the pool reserve output and the reservation is added to the input.
fn output_weights(context: &Context<'_>, pool: &PoolId, measure: &str) -> Option<(Quantity, Quantity)> {
    let meter = &context.entry(&pool.pool)?.meter;
    let reserve = weights(&meter.admission, measure)?.max_output.millionths();
    let settled = weights(&meter.settlement, measure).map_or(0, |weights| weights.output.millionths());
    let whole = |millionths| Quantity::ratio(millionths, 1_000_000);
    (reserve > 0 && meter.combine == Combine::Sum).then_some((whole(reserve)?, whole(settled)?))
}

fn weights<'m>(stage: &'m Stage, measure: &str) -> Option<&'m Weights> {
    match measure {
        "input_tokens" => stage.input_tokens.as_ref(),
        "output_tokens" => stage.output_tokens.as_ref(),
        "tokens" => stage.tokens.as_ref(),
        _ => None,
    }
}

/// Moving tier 3 to batch: what it draws from a pool that others need, at the instant that binds or, where it
/// does not draw then, at its own peak.
pub(crate) fn batch(
    context: &Context<'_>,
    pool: &PoolId,
    counted: &Counted,
    needed: &Needed,
    line: &Timeline<'_>,
) -> Vec<CheaperFix> {
    let Some(demand) = &needed.demand else { return Vec::new() };
    let movable = |workflow: &&&WorkflowMeasured| {
        let name = workflow.workflow.as_str();
        let capacity = context.index.workflow_spec(name).and_then(|workflow| workflow.capacity);
        context.tier(name) == Some(3) && capacity != Some(Capacity::Batch)
    };
    let fix = |workflow: &&WorkflowMeasured| {
        let name = workflow.workflow.as_str();
        let part = demand.parts.iter().find(|part| part.workflow == name && !part.floor.is_zero());
        let (frees, when) = match part {
            Some(part) => (part.floor.floor(), String::new()),
            None => own_peak(context, pool, counted, demand, line, workflow)?,
        };
        (frees > 0).then(|| CheaperFix {
            pool: pool.pool.clone(),
            fix: "batch".to_owned(),
            dimension: needed.plan.dimension.clone(),
            frees,
            workflow: Some(name.to_owned()),
            detail: format!(
                "move {name} to batch{when}: it can wait, batch has its own limits, and it leaves this pool to the others"
            ),
            owner: context.owner(name),
        })
    };
    context.index.drawing(pool).iter().filter(movable).filter_map(fix).collect()
}

/// What a workflow draws at its busiest instant, by the percentile, and when that is.
fn own_peak(
    context: &Context<'_>,
    pool: &PoolId,
    counted: &Counted,
    demand: &Demand,
    line: &Timeline<'_>,
    workflow: &WorkflowMeasured,
) -> Option<(u64, String)> {
    let Kind::PerMinute(measure) = &counted.kind else { return None };
    let (state, rate) = line.busiest(&workflow.workflow)?;
    let at = line.moments.iter().find(|moment| moment.state == state)?.at;
    let measure = format!("{}.{measure}", demand.basis);
    let draw = per_run(context, workflow, pool, &measure, rate.event.as_deref())?;
    let frees = (&draw.percentile * &rate.per_min).floor();
    Some((frees, format!(", which draws so much at {}", context.local(at))))
}

/// Caching: what each ten points of hit share free, where the pool does not count cache reads, the
/// workflow makes several calls a run and less than half its input is served from the cache.
pub(crate) fn caching(
    context: &Context<'_>,
    rhythm: &Rhythm<'_>,
    pool: &PoolId,
    counted: &Counted,
    needed: &Needed,
) -> Vec<CheaperFix> {
    let (Kind::PerMinute(measure), Some(demand)) = (&counted.kind, &needed.demand) else { return Vec::new() };
    let reads_are_free =
        context.entry(&pool.pool).and_then(|entry| weights(&entry.meter.settlement, measure)).is_some_and(
            |weights| weights.cache_read.millionths() == 0 && weights.input_uncached.millionths() > 0,
        );
    if !reads_are_free || needed.plan.decision == "hold" {
        return Vec::new();
    }
    let rates = rates_of(context, rhythm, pool, needed);
    let fix = |part: &crate::demand::Part| {
        let metrics = &context.workflow(&part.workflow)?.metrics;
        let (read, input) = (metrics.get("cache_read")?.sum, metrics.get("input_tokens")?);
        let hit = Quantity::ratio(read, input.sum)?;
        let several = mean(metrics.get("model_calls")?)? >= 2.into();
        let rate = rates.get(part.workflow.as_str())?;
        let frees =
            (&(&mean(input)? * &rate.per_min) * &Quantity::ratio(1, 10)?).floor().min(part.floor.floor());
        (several && frees > 0 && hit < Quantity::ratio(1, 2)?).then(|| CheaperFix {
            pool: pool.pool.clone(),
            fix: "caching".to_owned(),
            dimension: counted.dimension.clone(),
            frees,
            workflow: Some(part.workflow.clone()),
            detail: format!(
                "cache the prompt's stable prefix in {}: {:.0} % of its input is served from the cache today, and each ten points more free this much, since cache reads do not count here",
                part.workflow,
                hit.to_f64() * 100.0,
            ),
            owner: context.owner(&part.workflow),
        })
    };
    demand.parts.iter().filter_map(fix).collect()
}
