//! What a signer must know of the data and the inputs before trusting the figures.
//!
//! The invariant: every warning carries the figure that makes it one.

use plimsoll_replay::{Limit, Window};

use crate::context::Context;
use crate::deadline::lead;
use crate::pools::PoolWork;
use crate::quantity::Quantity;
use crate::rates::occurrences;
use crate::requests::share;
use crate::reservations::is_held;
use crate::runs::coverage;
use crate::windows::EventWindows;
use crate::{EventRatePlan, GrowthPlan, SpendPlan, Warning};

/// Days of telemetry below which profiles are thin (PLANNING, section 1).
const ENOUGH_DAYS: u32 = 14;
/// Runs below which a P95 is hardly one.
const ENOUGH_RUNS: u64 = 20;
/// Share of calls with known usage below which a total is doubted.
const ENOUGH_COVERAGE: f64 = 0.95;

/// All warnings, the history's first.
pub(crate) fn warnings(
    context: &Context<'_>,
    pools: &[PoolWork],
    event_rates: &[EventRatePlan],
    growth: &[GrowthPlan],
) -> Vec<Warning> {
    let mut found = Vec::new();
    history(context, &mut found);
    workflows(context, &mut found);
    rates(context, event_rates, growth, &mut found);
    for pool in pools {
        self::pool(context, pool, &mut found);
    }
    found
}

/// Spend is a limit too: the first month that ends above the budget.
pub(crate) fn over_budget(spend: &[SpendPlan]) -> Option<Warning> {
    let over = spend.iter().find(|month| month.over_usd.is_some() || month.over_high_usd.is_some())?;
    let budget = over.budget_usd.as_deref().unwrap_or_default();
    let spent = over.to_date_usd.as_ref().map_or_else(String::new, |usd| format!(", {usd} USD of it spent"));
    let detail = match (&over.over_usd, &over.over_high_usd) {
        (Some(usd), _) => format!(
            "{} is expected to end at {} USD{spent}, {usd} above the budget of {budget}",
            over.month, over.total_usd
        ),
        (None, high) => format!(
            "{} is expected to end at {} USD{spent}, within the budget of {budget}, but {} above it at the P95 of growth",
            over.month,
            over.total_usd,
            high.as_deref().unwrap_or_default()
        ),
    };
    Some(Warning { code: "over_budget".to_owned(), detail })
}

fn warn(found: &mut Vec<Warning>, code: &str, detail: String) {
    found.push(Warning { code: code.to_owned(), detail });
}

fn history(context: &Context<'_>, found: &mut Vec<Warning>) {
    let history = &context.measured().history;
    if history.runs == 0 {
        return warn(
            found,
            "no_data",
            "no finished run in the history: nothing can be planned from measurement".to_owned(),
        );
    }
    if let Some(why) = context.too_thin() {
        warn(found, "too_thin", why);
    } else if history.days_with_runs < ENOUGH_DAYS {
        let detail = format!(
            "{} days with runs and {} runs in the history, and {ENOUGH_DAYS} days are the least to plan from",
            history.days_with_runs,
            Quantity::from(history.runs),
        );
        warn(found, "thin_history", detail);
    }
    let known = share(history.model_calls_with_usage, history.model_calls);
    if history.model_calls > 0 && known < ENOUGH_COVERAGE {
        let detail = format!(
            "usage is known for {:.1} % of {} model calls; percentiles are over the runs that are known whole",
            known * 100.0,
            Quantity::from(history.model_calls),
        );
        warn(found, "low_coverage", detail);
    }
    let unknown = context.measured().pools.iter().filter(|pool| pool.pool.is_empty());
    let attempts: u64 = unknown.map(|pool| pool.attempts).sum();
    let drawn = context
        .measured()
        .workflows
        .iter()
        .flat_map(|workflow| &workflow.draws)
        .any(|draw| draw.pool.is_empty());
    if attempts > 0 || drawn {
        let told = if attempts > 0 { Quantity::from(attempts).to_string() } else { "some".to_owned() };
        warn(
            found,
            "unknown_pool",
            format!(
                "{told} attempts have no pool and are in no limit's figures: name their deployment in plimsoll.toml"
            ),
        );
    }
}

fn workflows(context: &Context<'_>, found: &mut Vec<Warning>) {
    for workflow in &context.measured().workflows {
        if workflow.runs < ENOUGH_RUNS {
            warn(
                found,
                "thin_runs",
                format!(
                    "{} has {} finished runs, and its P95 is no more than their largest",
                    workflow.workflow, workflow.runs
                ),
            );
        } else if coverage(workflow) < ENOUGH_COVERAGE {
            warn(
                found,
                "low_coverage",
                format!(
                    "token totals are known for {:.1} % of the runs of {}",
                    coverage(workflow) * 100.0,
                    workflow.workflow
                ),
            );
        }
    }
    for event in &context.spec().events {
        for name in event.workflows.keys().filter(|name| context.workflow(name).is_none()) {
            warn(
                found,
                "unmeasured_workflow",
                format!("{} moves {name}, of which no run was measured: it is in no figure", event.name),
            );
        }
    }
}

/// A rate of the spec that is less than an event has been seen to bring, on average over its windows.
fn below_past(context: &Context<'_>, row: &EventRatePlan, found: &mut Vec<Warning>) {
    let Some(workflow) = context.workflow(&row.workflow) else { return };
    let mean = |past: &EventWindows| {
        let lived = occurrences(workflow, &row.event).find(|lived| lived.start == past.start())?;
        let seconds: i64 = past.windows.iter().map(|(from, to)| to.duration_since(*from).as_secs()).sum();
        Quantity::ratio(lived.runs * 60, seconds)
    };
    let past = context.windows.past.iter().filter(|past| past.event == row.event);
    let (Some(most), Some(given)) = (past.filter_map(mean).max(), row.runs_per_min) else { return };
    if given < most.to_f64() {
        let (event, name) = (&row.event, &row.workflow);
        let detail = format!(
            "{event}: the spec gives {name} {given:.2} runs/min, and a past occurrence brought {:.2} on average: raise \
             it, leave the rate out so that what was measured counts, or be sure that fewer will come",
            most.to_f64()
        );
        warn(found, "below_past", detail);
    }
}

/// Rates of events that are assumed, unknown, or not what the spec says; and growth that is not.
fn rates(context: &Context<'_>, events: &[EventRatePlan], growth: &[GrowthPlan], found: &mut Vec<Warning>) {
    for row in events {
        let (event, name) = (&row.event, &row.workflow);
        let given = context.spec().events.iter().find(|given| given.name == *event);
        let times = given.and_then(|given| given.workflows.get(name)?.multiplier.as_ref());
        match (row.rate_from.as_deref(), times) {
            (None, _) => warn(
                found,
                "no_event_rate",
                format!("{event}: {}, so the rate of {name} is not known and it is in no figure", row.detail),
            ),
            (Some("assumed"), _) => warn(
                found,
                "assumed_event_rate",
                format!("{event}: no occurrence of it was measured, so {name} is assumed at {}", row.detail),
            ),
            (Some("measured"), Some(times)) => warn(
                found,
                "multiplier_unused",
                format!(
                    "{event}: {} past occurrences of {name} were measured and count, the multiplier of {times} does not; give runs_per_min to overrule them",
                    row.occurrences
                ),
            ),
            (Some("in_flight" | "runs_per_min"), _) => below_past(context, row, found),
            _ => {}
        }
    }
    let unknown: Vec<&GrowthPlan> = growth.iter().filter(|row| row.method.is_none()).collect();
    if let Some(first) = unknown.first() {
        let others = match unknown.len() {
            1 => String::new(),
            n => format!(", and {} others", n - 1),
        };
        warn(found, "no_growth", format!("{}{others}: {}", first.workflow, first.detail));
    }
}

fn pool(context: &Context<'_>, pool: &PoolWork, found: &mut Vec<Warning>) {
    let name = &pool.id.pool;
    let entry = context.entry(name);
    if entry.is_none_or(|entry| entry.is_fallback()) {
        warn(
            found,
            "no_catalog_row",
            format!(
                "the catalog has no row of its own for {name}: tokens are counted plainly, and no lead time or channel is known"
            ),
        );
    }
    for source in entry.into_iter().flat_map(|entry| entry.stale_sources(context.today)) {
        warn(
            found,
            "stale_catalog",
            format!("{name}: {} was read on {}, more than 180 days ago", source.title, source.read_on),
        );
    }
    let unlimited: Vec<&str> = pool
        .plan
        .dimensions
        .iter()
        .filter(|row| row.limit.is_none())
        .map(|row| row.dimension.as_str())
        .collect();
    if !unlimited.is_empty() {
        let seen = context
            .pool_measured(&pool.id)
            .map(|measured| &measured.limits_seen)
            .filter(|seen| !seen.is_empty());
        let told = seen.map_or_else(String::new, |seen| {
            let seen: Vec<String> = seen
                .iter()
                .map(|(dimension, limit)| format!("{dimension} {}", Quantity::from(*limit)))
                .collect();
            format!(" (the provider's headers told {})", seen.join(", "))
        });
        warn(
            found,
            "no_limit",
            format!(
                "{name}: no limit is given for {}{told}, so nothing is decided there: add it in [[pool]]",
                unlimited.join(", ")
            ),
        );
    }
    let needs_lead = pool.plan.dimensions.iter().any(|row| row.file_by.is_some());
    if needs_lead && lead(context, &pool.id).is_unknown() {
        warn(
            found,
            "no_lead_time",
            format!("{name}: nobody says how long an increase takes; give lead_time in [[pool]]"),
        );
    }
    if let Some(measured) = context.pool_measured(&pool.id).filter(|measured| measured.censored_minutes > 0) {
        let detail = format!(
            "{name}: attempts were refused in {} of {} busy minutes, so demand there is a lower bound",
            Quantity::from(measured.censored_minutes),
            Quantity::from(measured.busy_minutes),
        );
        warn(found, "censored", detail);
    }
    for row in pool.plan.dimensions.iter().filter(|row| row.fix_first) {
        warn(
            found,
            "fix_first",
            format!(
                "{name}: {} is above its limit until max_tokens is set; see cheaper_first",
                row.dimension
            ),
        );
    }
    bursts(context, pool, found);
    granted(context, pool, found);
    if entry.is_some_and(|entry| !entry.units.is_empty()) && !is_held(context, &pool.id) {
        warn(
            found,
            "no_reservation",
            format!("{name} is sold by reserved units, and the spec has no [[reservation]] for it"),
        );
    }
}

/// Measured windows that drew more than the limit, or its slice, lets through: what means hide.
fn bursts(context: &Context<'_>, pool: &PoolWork, found: &mut Vec<Warning>) {
    let (Some(entry), Some(measured)) = (context.entry(&pool.id.pool), context.pool_measured(&pool.id))
    else {
        return;
    };
    for row in &pool.plan.dimensions {
        let (Some(most), Some(dimension)) = (row.limit, entry.dimension(&row.dimension)) else { continue };
        let limit = Limit { most, window: Window(dimension.window_s), slice: dimension.slice_s.map(Window) };
        for stage in ["admission", "settlement"] {
            let Some(peaks) = measured.peaks.get(&format!("{stage}.{}", dimension.counts)) else { continue };
            for breach in limit.breaches(|window| peaks.of(window)) {
                let detail = format!(
                    "{}: the busiest {} s of the history drew {} by {stage}, of {} that {} lets through",
                    pool.id.pool,
                    breach.window.0,
                    Quantity::from(breach.peak),
                    Quantity::from(breach.most),
                    row.dimension,
                );
                warn(found, "burst_over_limit", detail);
            }
        }
    }
}

/// A grant in the ledger that is above the limit in force says that the spec is behind.
fn granted(context: &Context<'_>, pool: &PoolWork, found: &mut Vec<Warning>) {
    for row in &pool.plan.dimensions {
        let granted = context
            .input
            .ledger
            .requests
            .iter()
            .filter(|request| request.pool == pool.id.pool && request.dimension == row.dimension);
        let newest = granted.filter_map(|request| Some((request.decided?, request.granted?))).max();
        if let (Some((day, granted)), Some(limit)) = (newest, row.limit)
            && granted > limit
        {
            let detail = format!(
                "{}: the ledger has {} {} granted on {day}, the spec says {}; mend whichever is wrong",
                pool.id.pool,
                row.dimension,
                Quantity::from(granted),
                Quantity::from(limit),
            );
            warn(found, "limit_disagrees", detail);
        }
    }
}
