//! Supply risks that need no replay: what could take a pool away, or quietly share it.
//!
//! The invariant: each risk names its pool and the fact that makes it one.

use std::collections::{BTreeMap, BTreeSet};

use crate::context::Context;
use crate::pools::PoolWork;
use crate::quantity::Quantity;
use crate::spec::{Capacity, Fallback};
use crate::{Risk, RunDraw};

/// All risks, by pool.
pub(crate) fn risks(context: &Context<'_>, pools: &[PoolWork]) -> Vec<Risk> {
    let mut risks = Vec::new();
    for pool in pools {
        let spec = context.pool_spec(&pool.id);
        match spec.and_then(|spec| spec.fallback.as_ref()) {
            Some(fallback) => self::fallback(context, pools, pool, fallback, &mut risks),
            None => no_fallback(context, pool, &mut risks),
        }
        let open = spec.map(|spec| spec.open_questions()).unwrap_or_default();
        if !open.is_empty() {
            let detail =
                format!("{} of 7 questions to the provider are unanswered: {}", open.len(), open.join("; "));
            risks.push(risk("unknown provider answers", &pool.id.pool, detail));
        }
        interactive(context, pool, &mut risks);
        sharing(context, pool, &mut risks);
        retirement(context, pool, &mut risks);
    }
    shared_limits(context, pools, &mut risks);
    concentration(context, &mut risks);
    risks
}

fn risk(name: &str, pool: &str, detail: String) -> Risk {
    Risk { risk: name.to_owned(), pool: Some(pool.to_owned()), detail, usd_month: None }
}

/// Workflows that draw on a pool, by key.
fn drawing<'c>(context: &'c Context<'_>, pool: &str) -> BTreeSet<&'c str> {
    let draws = |draw: &RunDraw| draw.pool == pool && draw.per_run.max > 0;
    let workflows = context.measured().workflows.iter().filter(|workflow| workflow.draws.iter().any(draws));
    workflows.map(|workflow| workflow.workflow.as_str()).collect()
}

fn fallback(
    context: &Context<'_>,
    pools: &[PoolWork],
    pool: &PoolWork,
    fallback: &Fallback,
    risks: &mut Vec<Risk>,
) {
    let name = &pool.id.pool;
    let others: Vec<&str> =
        drawing(context, &fallback.pool).difference(&drawing(context, name)).copied().collect();
    let same = fallback.pool == *name
        || context
            .entry(name)
            .zip(context.entry(&fallback.pool))
            .is_some_and(|(one, other)| !one.is_fallback() && one.shares_limits_with(other));
    if same {
        risks.push(risk(
            "shared fallback pool",
            name,
            format!(
                "its fallback {} draws on the same limit: it is exhausted together with it",
                fallback.pool
            ),
        ));
    } else if !others.is_empty() {
        let busy = pools.iter().find(|other| other.id.pool == fallback.pool).and_then(PoolWork::binding);
        let use_of = busy.and_then(|bound| bound.plan.utilization_p95).map_or_else(String::new, |share| {
            format!(", at {:.0} % of its limit at P95 of their peak", share * 100.0)
        });
        risks.push(risk(
            "shared fallback pool",
            name,
            format!(
                "its fallback {} is the pool of {}{use_of}: what falls over takes from them",
                fallback.pool,
                others.join(", ")
            ),
        ));
    }
    let missing: Vec<&str> = [
        (fallback.quota_confirmed, "confirmed quota"),
        (fallback.credentials_tested, "tested credentials"),
        (fallback.evaluation, "evaluation"),
    ]
    .into_iter()
    .filter(|(day, _)| day.is_none_or(|day| day > context.today))
    .map(|(_, what)| what)
    .collect();
    if !missing.is_empty() {
        risks.push(risk(
            "unproven fallback",
            name,
            format!("its fallback {} has no {}", fallback.pool, missing.join(", no ")),
        ));
    }
}

fn no_fallback(context: &Context<'_>, pool: &PoolWork, risks: &mut Vec<Risk>) {
    let important: Vec<&str> = drawing(context, &pool.id.pool)
        .into_iter()
        .filter(|workflow| context.tier(workflow).is_some_and(|tier| tier <= 1))
        .collect();
    if !important.is_empty() {
        risks.push(risk(
            "no fallback",
            &pool.id.pool,
            format!("{} would stop with it: name a fallback in [[pool]]", important.join(", ")),
        ));
    }
}

/// A pool that customers wait on, used above the ceiling that the policy advises for it.
fn interactive(context: &Context<'_>, pool: &PoolWork, risks: &mut Vec<Risk>) {
    let waiting =
        drawing(context, &pool.id.pool).into_iter().find(|workflow| context.tier(workflow) == Some(0));
    let ceiling = context.spec().policy.interactive_utilization.to_f64();
    let used = pool.binding().and_then(|bound| bound.plan.utilization_p95).filter(|used| *used > ceiling);
    if let (Some(workflow), Some(used)) = (waiting, used) {
        let detail = format!(
            "{workflow} is customer-facing and its pool is {:.0} % used at P95, above the advised {:.0} %",
            used * 100.0,
            ceiling * 100.0
        );
        risks.push(risk("interactive pool above its ceiling", &pool.id.pool, detail));
    }
}

/// Batch or deferrable work in a pool that interactive or deadline-bound work needs.
fn sharing(context: &Context<'_>, pool: &PoolWork, risks: &mut Vec<Risk>) {
    let (mut urgent, mut deferrable) = (Vec::new(), Vec::new());
    for workflow in drawing(context, &pool.id.pool) {
        let capacity = context.index.workflow_spec(workflow).and_then(|spec| spec.capacity);
        match context.tier(workflow) {
            _ if capacity == Some(Capacity::Batch) => deferrable.push(workflow),
            Some(0 | 1) => urgent.push(workflow),
            Some(3) => deferrable.push(workflow),
            _ => {}
        }
    }
    if !urgent.is_empty() && !deferrable.is_empty() {
        let detail = format!(
            "{} can wait and shares the pool of {}: give it its own, or batch",
            deferrable.join(", "),
            urgent.join(", ")
        );
        risks.push(risk("deferrable work in a production pool", &pool.id.pool, detail));
    }
}

fn retirement(context: &Context<'_>, pool: &PoolWork, risks: &mut Vec<Risk>) {
    let Some(retires) = context.entry(&pool.id.pool).and_then(|entry| entry.retires) else { return };
    let bound = context
        .spec()
        .reservations
        .iter()
        .find(|held| held.pool == pool.id.pool && held.until.is_some_and(|until| until > retires));
    let detail = match bound {
        _ if retires <= context.today => format!("the model was retired on {retires}: move off it"),
        Some(held) => {
            format!("the model retires on {retires}, before its reservation of {} units ends", held.units)
        }
        None => format!("the model retires on {retires}"),
    };
    risks.push(risk("retirement", &pool.id.pool, detail));
}

/// Pools of different keys that the provider counts as one limit: their demand is not added up here.
fn shared_limits(context: &Context<'_>, pools: &[PoolWork], risks: &mut Vec<Risk>) {
    for (index, one) in pools.iter().enumerate() {
        for other in &pools[index + 1..] {
            let entries = context.entry(&one.id.pool).zip(context.entry(&other.id.pool));
            let together =
                entries.is_some_and(|(one, other)| !one.is_fallback() && one.shares_limits_with(other));
            if together
                && one.id.pool != other.id.pool
                && (&one.id.account, &one.id.region) == (&other.id.account, &other.id.region)
            {
                let detail = format!(
                    "draws on the same limit as {}; each is planned alone, so add their needs",
                    other.id.pool
                );
                risks.push(risk("models share a limit", &one.id.pool, detail));
            }
        }
    }
}

/// More of tiers 0 and 1 than the policy likes on one provider, model and region, by calls.
fn concentration(context: &Context<'_>, risks: &mut Vec<Risk>) {
    let mut calls = BTreeMap::<(String, String, Option<String>), i64>::new();
    for workflow in &context.measured().workflows {
        if context.tier(&workflow.workflow).is_none_or(|tier| tier > 1) {
            continue;
        }
        for draw in workflow.draws.iter().filter(|draw| draw.measure == "settlement.requests") {
            let Ok(key) = draw.pool.parse::<plimsoll_catalog::PoolKey>() else { continue };
            let place = (key.provider().to_owned(), key.model().to_owned(), draw.region.clone());
            *calls.entry(place).or_default() += draw.per_run.sum;
        }
    }
    let all: i64 = calls.values().sum();
    for ((provider, model, region), part) in calls {
        let Some(share) =
            Quantity::ratio(part, all).filter(|share| *share > context.spec().policy.concentration)
        else {
            continue;
        };
        let place = region.map_or_else(String::new, |region| format!(" in {region}"));
        let detail = format!(
            "{:.0} % of the calls of tiers 0 and 1 go to {model} of {provider}{place}, above {:.0} %: name a second source",
            share.to_f64() * 100.0,
            context.spec().policy.concentration.to_f64() * 100.0,
        );
        risks.push(Risk { risk: "concentration".to_owned(), pool: None, detail, usd_month: None });
    }
}
