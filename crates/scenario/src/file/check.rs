//! What a table must satisfy beyond being well-formed.
//!
//! Each refusal names the table and says what to do. The simulation relies on what is checked here:
//! names that resolve, lists that are not empty, rates that are numbers.

use plimsoll_toml::nearest;

use super::{Arrivals, Before, Operation, Pool, ScenarioError, Shared, Workflow};

/// The first thing wrong with a pool, if any.
pub(super) fn pool(pool: &Pool) -> Result<(), ScenarioError> {
    let wrong = |message: &str| {
        Err(ScenarioError::Table { table: "pool", name: pool.name.clone(), message: message.to_owned() })
    };
    if pool.limits.is_empty() || pool.limits.windows(2).any(|pair| pair[1].from <= pair[0].from) {
        return wrong("`limits` needs at least one entry, each later than the one before");
    }
    let numbers = [pool.burst_s, pool.output_weight, pool.first_token_s, pool.token_ms];
    if !numbers.iter().all(|number| number.is_finite() && *number > 0.0) {
        return wrong("burst_s, output_weight, first_token_s and token_ms must be above zero");
    }
    if !(pool.slower_when_full.is_finite() && pool.slower_when_full >= 0.0) {
        return wrong("slower_when_full must not be negative");
    }
    for limits in &pool.limits {
        if limits.units.is_some() != limits.tokens_per_min_per_unit.is_some() {
            return wrong("units need tokens_per_min_per_unit, and the other way round");
        }
        let amounts = [
            limits.requests_per_min,
            limits.input_tokens_per_min,
            limits.output_tokens_per_min,
            limits.tokens_per_min,
            limits.units,
            limits.tokens_per_min_per_unit,
        ];
        if amounts.contains(&Some(0)) {
            return wrong("a limit must be above zero; leave out what is not limited");
        }
    }
    Ok(())
}

/// The first thing wrong with a workflow, if any.
pub(super) fn workflow(workflow: &Workflow, pools: &[Pool]) -> Result<(), ScenarioError> {
    names(workflow, pools)?;
    let fault = arrivals(workflow)
        .or_else(|| calls(workflow))
        .or_else(|| lists(workflow).map(str::to_owned))
        .or_else(|| workflow.before.iter().find_map(before));
    match fault {
        Some(message) => {
            Err(ScenarioError::Table { table: "workflow", name: workflow.name.clone(), message })
        }
        None => Ok(()),
    }
}

/// Every pool that it names must be there.
fn names(workflow: &Workflow, pools: &[Pool]) -> Result<(), ScenarioError> {
    let calls = &workflow.calls;
    let fallback = workflow.troubles.fallback.as_ref().map(|fallback| &fallback.pool);
    let steps = workflow.before.iter().filter_map(|step| step.pool.as_ref());
    for name in [Some(&calls.pool), calls.spill.as_ref(), fallback].into_iter().flatten().chain(steps) {
        let known = || pools.iter().map(|pool| pool.name.as_str());
        if !known().any(|known| known == name) {
            let meant = nearest(name, known()).map(str::to_owned);
            return Err(ScenarioError::NoSuchPool {
                workflow: workflow.name.clone(),
                pool: name.clone(),
                meant,
            });
        }
    }
    Ok(())
}

fn arrivals(workflow: &Workflow) -> Option<String> {
    if let Some(burstiness) = workflow.burstiness {
        let indices = [burstiness.per_second, burstiness.per_minute];
        if !(indices.iter().all(|index| *index >= 1.0) && burstiness.at_runs_per_min > 0.0) {
            return Some("`burstiness` is at least 1 (chance alone), at a rate above zero".to_owned());
        }
    }
    workflow.arrivals.iter().find_map(Arrivals::fault).map(str::to_owned)
}

fn calls(workflow: &Workflow) -> Option<String> {
    let calls = &workflow.calls;
    let wrong = if calls.mix.is_empty() == calls.count.is_none() {
        "`calls` needs either `mix` or `count`"
    } else if calls.mix.iter().any(|kind| kind.calls == 0 || kind.share < 0.0) {
        "each kind in `mix` makes at least one call and has a share that is not negative"
    } else if calls.growth.is_some() && calls.mix.is_empty() {
        "`growth` needs `mix`, so that the mean over all steps is known"
    } else if calls.growth.is_some_and(|growth| growth.at_step < 2 || growth.run_p95_over_p50 < 1.0) {
        "`growth` is told at step 2 or later, and `run_p95_over_p50` is at least 1"
    } else if calls.cached.is_some_and(|cached| cached.prefix_tokens.is_some() == cached.share.is_some()) {
        "`cached` needs either `prefix_tokens` or `share`"
    } else {
        return None;
    };
    Some(wrong.to_owned())
}

fn lists(workflow: &Workflow) -> Option<&'static str> {
    let drawable = |shares: &[Shared]| shares.iter().any(|one| one.share > 0.0);
    if ![&workflow.tenants, &workflow.classes, &workflow.outcomes].into_iter().all(|shares| drawable(shares))
    {
        return Some("tenants, classes and outcomes need at least one entry with a share above zero");
    }
    if workflow.tools.as_ref().is_some_and(|tools| tools.names.is_empty()) {
        return Some("`tools` needs at least one name");
    }
    if workflow.versions.windows(2).any(|pair| pair[1].from <= pair[0].from) {
        return Some("each of `versions` must be later than the one before");
    }
    (workflow.tier > 3).then_some("`tier` is 0, 1, 2 or 3")
}

fn before(step: &Before) -> Option<String> {
    let (complete, needs) = match step.operation {
        Operation::Chat => {
            (step.pool.is_some() && step.input.is_some() && step.output.is_some(), "pool, input and output")
        }
        Operation::Embeddings => (step.pool.is_some() && step.input.is_some(), "pool and input"),
        Operation::Retrieval => (
            step.chunks.is_some() && step.chunk_tokens.is_some() && step.latency_s.is_some(),
            "chunks, chunk_tokens and latency_s",
        ),
    };
    (!complete).then(|| format!("step `{}` needs {needs}", step.step))
}
