//! Requests to file: which, by when, through which channel, with which evidence.
//!
//! Leaves the figures to `need`, the wording of forms to `form`, what a reviewer would ask to `lint`, and
//! the days to `filing`. The invariant: one request per quota; what is open or already drafted in the
//! ledger is not drafted again for the same event.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::context::{Context, PoolId};
use crate::filing::named;
use crate::form::Form;
use crate::lint::lint;
use crate::need::Needed;
use crate::pools::PoolWork;
use crate::quantity::Quantity;
use crate::{LedgerRequest, QuotaRequest, SpendPlan, Warning};

/// Settles decisions against the ledger, then drafts what is left, earliest `file_by` first.
pub(crate) fn requests(
    context: &Context<'_>,
    pools: &mut [PoolWork],
    spend: &[SpendPlan],
    warnings: &mut Vec<Warning>,
) -> Vec<QuotaRequest> {
    let mut requests = Vec::new();
    for pool in pools.iter_mut() {
        let drafted = settle(context, pool, warnings);
        let mut drafts: Vec<QuotaRequest> = pool
            .needed
            .iter()
            .filter(|needed| needed.plan.file_by.is_some() && !drafted.contains(&needed.plan.dimension))
            .filter_map(|needed| draft(context, pool, needed, spend))
            .collect();
        if raised_together(context, pool) {
            merge(pool.plan.binding.as_deref(), &mut drafts);
        }
        requests.extend(drafts);
    }
    requests.sort_by(|one, other| {
        (one.file_by, &one.pool, &one.account, &one.dimension).cmp(&(
            other.file_by,
            &other.pool,
            &other.account,
            &other.dimension,
        ))
    });
    requests
}

/// Holds what is already filed, and returns the dimensions that are drafted or filed.
fn settle(context: &Context<'_>, pool: &mut PoolWork, warnings: &mut Vec<Warning>) -> Vec<String> {
    let mut known = Vec::new();
    let (account, region) = (pool.plan.account.clone(), pool.plan.region.clone());
    let open: Vec<&LedgerRequest> =
        context.input.ledger.undecided(&pool.id.pool, account.as_deref(), region.as_deref()).collect();
    for (needed, shown) in pool.needed.iter_mut().zip(&mut pool.plan.dimensions) {
        let plan = &mut needed.plan;
        if plan.file_by.is_none() {
            continue;
        }
        let brings = |request: &LedgerRequest| brings(context, &pool.id, request, &plan.dimension);
        let wanted = plan.largest_need.unwrap_or(plan.need);
        // A request covers a limit where it asks for enough, or was made for the same event: then what it
        // lacks goes into its case. One for another event that asks for less leaves this one to be asked.
        let covers = |request: &&&LedgerRequest| {
            brings(request).is_some_and(|asked| {
                asked >= wanted
                    || request.dimension == plan.dimension && request.is_for(plan.event.as_deref())
            })
        };
        let Some(request) = open.iter().filter(covers).max_by_key(|request| (request.filed, request.drafted))
        else {
            continue;
        };
        let Some(asked) = brings(request) else { continue };
        known.push(plan.dimension.clone());
        let short = if asked < plan.need {
            "; that is less than the need, so ask for it in the same case"
        } else {
            ""
        };
        let asked = Quantity::from(asked);
        let detail = match request.filed {
            Some(filed) => {
                plan.decision = "hold".to_owned();
                plan.derivation.push(format!(
                    "a request for {asked} has been open since {filed}: nothing to file{short}"
                ));
                format!(
                    "{} on {}: a request for {asked}, filed on {filed}, is open{short}",
                    plan.dimension, pool.id.pool
                )
            }
            None => format!(
                "{} on {}: a request for {asked} is drafted but not filed{short}",
                plan.dimension, pool.id.pool
            ),
        };
        warnings.push(Warning { code: "open_request".to_owned(), detail });
        *shown = plan.clone();
    }
    known
}

/// The limit that a request would bring of a dimension: what it asks for, or what the same tier or the
/// same capacity units give.
fn brings(context: &Context<'_>, pool: &PoolId, request: &LedgerRequest, dimension: &str) -> Option<u64> {
    if request.dimension == dimension {
        return Some(request.asked);
    }
    let grants = &context.entry(&pool.pool)?.grants;
    let asked = (request.dimension.as_str(), request.asked);
    if let Some(step) = grants.step_for([asked]) {
        return step.limits.get(dimension).copied();
    }
    let units = grants.units_for([asked])?;
    Some(units.saturating_mul(*grants.capacity_unit.as_ref()?.limits.get(dimension)?))
}

/// Whether one filing raises every limit of the pool: tiers and capacity units do.
fn raised_together(context: &Context<'_>, pool: &PoolWork) -> bool {
    context
        .entry(&pool.id.pool)
        .is_some_and(|entry| !entry.grants.steps.is_empty() || entry.grants.capacity_unit.is_some())
}

/// Keeps the request for the binding limit; the others become what it brings along.
fn merge(binding: Option<&str>, drafts: &mut Vec<QuotaRequest>) {
    let anchor = drafts.iter().position(|draft| Some(draft.dimension.as_str()) == binding).unwrap_or(0);
    if drafts.len() < 2 {
        return;
    }
    let mut kept = drafts.remove(anchor);
    for other in drafts.drain(..) {
        kept.file_by = kept.file_by.min(other.file_by);
        kept.last_safe = kept.last_safe.min(other.last_safe);
        kept.companions.push(format!(
            "{} to {}, raised by the same step",
            other.dimension,
            Quantity::from(other.to)
        ));
    }
    drafts.push(kept);
}

fn draft(
    context: &Context<'_>,
    pool: &PoolWork,
    needed: &Needed,
    spend: &[SpendPlan],
) -> Option<QuotaRequest> {
    let plan = &needed.plan;
    let to = plan.ask?;
    let entry = context.entry(&pool.id.pool);
    let channel = entry.and_then(|entry| entry.channel.as_ref());
    let form = Form::new(context, pool, needed, to, spend);
    let companion = |quota: &plimsoll_catalog::Quota| match (&quota.code, quota.adjustable) {
        (Some(_), Some(false)) => format!("{}, not adjustable: ask in the case's text", named(quota)),
        _ => named(quota),
    };
    let needed_from = plan.event_start.map(|start| context.input.calendar.local_date(start));
    let mut request = QuotaRequest {
        pool: pool.id.pool.clone(),
        account: pool.plan.account.clone(),
        region: pool.plan.region.clone(),
        dimension: plan.dimension.clone(),
        event: plan.event.clone(),
        needed_from: Some(needed_from.unwrap_or(context.today)),
        from: plan.limit,
        to,
        file_by: plan.file_by?,
        last_safe: plan.last_safe?,
        decision: plan.decision.clone(),
        channel: channel.map_or_else(
            || "missing: the catalog has no channel for this pool".to_owned(),
            |channel| channel.name.clone(),
        ),
        command: entry.and_then(|entry| entry.command(&plan.dimension, to, pool.plan.region.as_deref())),
        fields: channel.map(|channel| form.fields(channel)).unwrap_or_default(),
        justification: form.justification(),
        evidence: evidence(context, pool, needed),
        companions: entry.map(|entry| entry.companions.iter().map(companion).collect()).unwrap_or_default(),
        owner: pool.plan.owner.clone(),
        lints: Vec::new(),
    };
    request.lints = lint(context, pool, needed, &request);
    Some(request)
}

/// The figures behind a request, each with statistic, window and period in its name or value.
fn evidence(context: &Context<'_>, pool: &PoolWork, needed: &Needed) -> BTreeMap<String, Value> {
    let plan = &needed.plan;
    let history = &context.measured().history;
    let percentile = context.percentile_name().to_lowercase();
    let dimension = &plan.dimension;
    let mut evidence = BTreeMap::from([
        (
            "history".to_owned(),
            json!({"from": history.from.to_string(), "to": history.to.to_string(), "finished_runs": history.runs}),
        ),
        (
            "usage_known_share_of_model_calls".to_owned(),
            json!(share(history.model_calls_with_usage, history.model_calls)),
        ),
        (
            "refused_share_of_attempts_history".to_owned(),
            json!(share(history.throttled_attempts, history.attempts)),
        ),
        (format!("planned_mean_{dimension}"), json!(plan.mean_demand)),
        (format!("planned_{percentile}_{dimension}"), json!(plan.p95_floor)),
        (
            if plan.forecast_p95 == Some(plan.p95_need) {
                format!("planned_{percentile}_at_forecast_p95_{dimension}")
            } else {
                format!("planned_{percentile}_with_headroom_{dimension}")
            },
            json!(plan.p95_need),
        ),
        ("counted_at".to_owned(), json!(plan.basis)),
        ("window_s".to_owned(), json!(plan.window_s)),
        ("n".to_owned(), json!(plan.n)),
        ("derivation".to_owned(), json!(plan.derivation)),
        ("inputs".to_owned(), json!(plan.inputs)),
    ]);
    if let (Some(event), Some(start)) = (&plan.event, plan.event_start) {
        evidence.insert(
            "event".to_owned(),
            json!({"name": event, "start": start.to_string(), "past_occurrences": plan.occurrences}),
        );
        evidence.insert("refused_share_of_attempts_in_past_occurrences".to_owned(), json!(plan.censored));
    }
    let measured = context.pool_measured(&pool.id);
    if let (Some(measured), Some(stat)) = (measured, context.busy_minutes(&pool.id, plan)) {
        evidence.insert(
            format!("measured_busy_minutes_{dimension}"),
            json!({"p50": stat.p50, "p95": stat.p95, "max": stat.max, "n": stat.n, "with_refusals": measured.censored_minutes}),
        );
    }
    evidence
}

/// `part / of` as a share, 0 of nothing.
pub(crate) fn share(part: u64, of: u64) -> f64 {
    Quantity::ratio(part, of).map_or(0.0, |share| share.to_f64())
}
