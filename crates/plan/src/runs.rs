//! Per workflow: what its runs draw, the caps to enforce on them, and how many are inside at once.
//!
//! The invariant: a cap from measurement is the P99 of finished runs, and the share that it would
//! have cut is an upper bound read off the same percentiles.

use rayon::prelude::*;

use crate::context::{Context, mean};
use crate::demand::{Counted, demand, mean_minutes};
use crate::pools::{PoolWork, rates_of};
use crate::quantity::Quantity;
use crate::rates::{Rhythm, run_minutes};
use crate::spec::Budget;
use crate::timeline::Instants;
use crate::{BudgetPlan, ConcurrencyPlan, MetricPlan, Stat, WorkflowMeasured, WorkflowPlan};

/// One row per workflow, as measured.
pub(crate) fn workflows(context: &Context<'_>) -> Vec<WorkflowPlan> {
    let row = |workflow: &WorkflowMeasured| WorkflowPlan {
        workflow: workflow.workflow.clone(),
        tier: context.tier(&workflow.workflow),
        owner: context.owner(&workflow.workflow),
        runs: workflow.runs,
        coverage: coverage(workflow),
        metrics: workflow
            .metrics
            .iter()
            .filter_map(|(name, stat)| Some((name.clone(), metric(name, stat)?)))
            .collect(),
    };
    context.measured().workflows.iter().map(row).collect()
}

/// Share of a workflow's runs whose token totals are known.
pub(crate) fn coverage(workflow: &WorkflowMeasured) -> f64 {
    let known = workflow.metrics.get("input_tokens").and_then(|stat| Quantity::ratio(stat.n, stat.of));
    known.map_or(0.0, |share| share.to_f64())
}

/// Percentiles as told to people: times in milliseconds, the rest in their own unit.
fn metric(name: &str, stat: &Stat) -> Option<MetricPlan> {
    let scale = if name.ends_with("_ms") { 1000.0 } else { 1.0 };
    Some(MetricPlan {
        n: stat.n,
        mean: mean(stat)?.to_f64() / scale,
        p50: stat.p50 / scale,
        p95: stat.p95 / scale,
        p99: stat.p99 / scale,
        max: Quantity::ratio(stat.max, 1)?.to_f64() / scale,
    })
}

/// Hard caps for the runtime: what the spec declares, else the P99 of finished runs.
pub(crate) fn budgets(context: &Context<'_>) -> Vec<BudgetPlan> {
    context.measured().workflows.iter().flat_map(|workflow| caps(context, workflow)).collect()
}

fn caps(context: &Context<'_>, workflow: &WorkflowMeasured) -> Vec<BudgetPlan> {
    let declared =
        context.spec().workflow(&workflow.workflow).map(|spec| spec.budget.clone()).unwrap_or_default();
    let Budget { model_calls, tool_calls, parallel_tools, retries, tokens, wall_clock } = declared;
    let wall_clock = wall_clock.map(|span| span.duration().as_secs());
    let metric = |name: &str| workflow.metrics.get(name).filter(|stat| stat.n > 0).cloned();
    let second = 1_000_000.0;
    let rows = [
        ("model_calls", model_calls, metric("model_calls"), 1.0),
        ("tool_calls", tool_calls, metric("tool_calls"), 1.0),
        ("parallel_tools", parallel_tools, metric("max_parallel_tools"), 1.0),
        ("retries", retries, metric("retries"), 1.0),
        ("tokens", tokens, both(metric("input_tokens"), metric("output_tokens")), 1.0),
        ("wall_clock_s", wall_clock, metric("duration_ms"), second),
    ];
    let row = |(limit, declared, stat, unit): (&str, Option<u64>, Option<Stat>, f64)| {
        let stat = stat?;
        let value = declared.unwrap_or_else(|| (stat.p99 / unit).ceil() as u64);
        // A cap of nothing would stop a workflow that has simply never done the thing.
        (value > 0).then(|| BudgetPlan {
            workflow: workflow.workflow.clone(),
            limit: limit.to_owned(),
            value,
            would_cut: cut(&stat, value as f64 * unit),
        })
    };
    rows.into_iter().filter_map(row).collect()
}

/// Input and output together; the sum of percentiles is at least the percentile of the sum.
fn both(input: Option<Stat>, output: Option<Stat>) -> Option<Stat> {
    let (input, output) = (input?, output?);
    Some(Stat {
        n: input.n.min(output.n),
        of: input.of,
        sum: input.sum + output.sum,
        p50: input.p50 + output.p50,
        p95: input.p95 + output.p95,
        p99: input.p99 + output.p99,
        max: input.max + output.max,
    })
}

/// The share of runs above a cap, at most.
fn cut(stat: &Stat, cap: f64) -> f64 {
    match cap {
        cap if cap >= stat.max as f64 => 0.0,
        cap if cap >= stat.p99 => 0.01,
        cap if cap >= stat.p95 => 0.05,
        cap if cap >= stat.p50 => 0.5,
        _ => 1.0,
    }
}

/// Little's law: runs at each workflow's busiest planned rate, calls at each pool's binding instant,
/// tools and streams over the history.
pub(crate) fn concurrency(
    context: &Context<'_>,
    instants: &Instants,
    rhythm: &Rhythm<'_>,
    pools: &[PoolWork],
) -> Vec<ConcurrencyPlan> {
    let measured = &context.measured().in_flight;
    let find =
        |boundary: &str, name: &str| measured.iter().find(|at| at.boundary == boundary && at.name == name);
    let runs = |workflow: &WorkflowMeasured| {
        let name = workflow.workflow.as_str();
        let line = instants.of(context, rhythm, &[name].into());
        let (_, rate) = line.busiest(name)?;
        let (minutes, _) = run_minutes(workflow, rate.event.as_deref().unwrap_or_default())?;
        Some(row("run", name, &rate.per_min, &minutes, find("run", name).map(|at| at.p95)))
    };
    let mut rows: Vec<ConcurrencyPlan> = context.measured().workflows.par_iter().filter_map(runs).collect();
    for pool in pools {
        let Some(at) = find("model", &pool.id.pool) else { continue };
        let Some(minutes) = mean_minutes(at) else { continue };
        let bound = pool.binding();
        let rates = bound.map(|bound| rates_of(context, rhythm, &pool.id, bound)).unwrap_or_default();
        let counted = Counted::named("requests_per_min");
        let Some(requests) = demand(context, &pool.id, &counted, &rates) else { continue };
        rows.push(row("model", &pool.id.pool, &requests.mean, &minutes, Some(at.p95)));
    }
    let history = &context.measured().history;
    let minutes_of_history = history.to.duration_since(history.from).as_secs() / 60;
    for at in measured.iter().filter(|at| at.boundary == "tool" || at.boundary == "stream") {
        let per_min = Quantity::ratio(at.starts, minutes_of_history);
        if let (Some(per_min), Some(minutes)) = (per_min, mean_minutes(at)) {
            rows.push(row(&at.boundary, &at.name, &per_min, &minutes, Some(at.p95)));
        }
    }
    rows
}

fn row(
    boundary: &str,
    name: &str,
    per_min: &Quantity,
    minutes: &Quantity,
    measured_p95: Option<f64>,
) -> ConcurrencyPlan {
    ConcurrencyPlan {
        boundary: boundary.to_owned(),
        name: name.to_owned(),
        lambda_per_s: per_min.to_f64() / 60.0,
        w_s: minutes.to_f64() * 60.0,
        l: (per_min * minutes).to_f64(),
        measured_p95: measured_p95.map(|p95| p95.ceil() as u64),
        knee: None,
    }
}
