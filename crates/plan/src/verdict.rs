//! The first sentence of the report: what will happen and what must be done by when.
//!
//! The invariant: at most two sentences, in words that a manager would sign, each with its figure.

use jiff::civil::Date;

use crate::context::Context;
use crate::pools::PoolWork;
use crate::quantity::Quantity;
use crate::{DimensionPlan, Plan, QuotaRequest, ReservationPlan};

/// The verdict on a plan that is otherwise complete.
pub(crate) fn verdict(context: &Context<'_>, plan: &Plan, pools: &[PoolWork]) -> String {
    if context.measured().history.runs == 0 {
        return "There is not enough data to plan: no finished run was measured in the history.".to_owned();
    }
    if let Some(why) = context.too_thin() {
        return format!("There is not enough data to plan: {why}.");
    }
    let first = plan
        .quota_requests
        .iter()
        .filter(|request| request.decision != "planned")
        .min_by_key(|request| (request.last_safe, request.file_by))
        .and_then(|request| Some((request, row_of(pools, request)?)));
    let first = first.map(|(request, row)| urgent(context, request, row));
    let opening = first.or_else(|| waiting(pools)).unwrap_or_else(|| quiet(context, plan));
    match rest(plan) {
        Some(rest) => format!("{opening} {rest}"),
        None => opening,
    }
}

fn row_of<'p>(pools: &'p [PoolWork], request: &QuotaRequest) -> Option<&'p DimensionPlan> {
    let pool =
        pools.iter().find(|pool| pool.id.pool == request.pool && pool.id.account == request.account)?;
    pool.plan.dimensions.iter().find(|row| row.dimension == request.dimension)
}

/// `30 November 2026`.
fn day(date: Date) -> String {
    date.strftime("%-d %B %Y").to_string()
}

fn urgent(context: &Context<'_>, request: &QuotaRequest, row: &DimensionPlan) -> String {
    let what = row.dimension.replace("_per_min", " a minute").replace("_per_day", " a day").replace('_', " ");
    let limit = row.limit.unwrap_or_default();
    let over = row.p95_floor > limit;
    let what_happens = match (&row.event, row.event_start) {
        (Some(event), Some(start)) => {
            let happens = if over {
                "will be throttled at today's limit"
            } else {
                "leaves too little headroom at today's limit"
            };
            format!("The {event} of {} {happens}", day(context.input.calendar.local_date(start)))
        }
        _ if over => "Ordinary use is already throttled at today's limit".to_owned(),
        _ => "Ordinary use leaves too little headroom at today's limit".to_owned(),
    };
    let by = if row.event.is_none() {
        format!("file for {} today", Quantity::from(request.to))
    } else if request.decision == "late" {
        format!(
            "it is too late for a request at the usual lead time (the last safe day was {}), so file today and bridge the gap",
            day(request.last_safe)
        )
    } else {
        format!("file for {} by {}", Quantity::from(request.to), day(request.last_safe))
    };
    format!(
        "{what_happens} of {} {what} on {}, since it needs {}: {by}.",
        Quantity::from(limit),
        request.pool,
        Quantity::from(row.need),
    )
}

/// Nothing to file, but a setting must change, or an answer is awaited.
fn waiting(pools: &[PoolWork]) -> Option<String> {
    let fixed = pools.iter().find(|pool| pool.plan.dimensions.iter().any(|row| row.fix_first))?;
    Some(format!(
        "Nothing must be filed today, but {} is above its limit until max_tokens is set.",
        fixed.id.pool
    ))
}

fn quiet(context: &Context<'_>, plan: &Plan) -> String {
    let through = context.input.as_of.checked_add(context.spec().policy.horizon.duration());
    let through =
        through.map_or_else(|_| "the horizon".to_owned(), |end| day(context.input.calendar.local_date(end)));
    match plan.quota_requests.first() {
        Some(request) => {
            format!("Nothing must be filed today; the next request is due on {}.", day(request.file_by))
        }
        None if plan.pools.iter().all(|pool| pool.binding.is_none()) => {
            "Nothing can be decided, since no limit is known for any pool: give them in [[pool]].".to_owned()
        }
        None => format!("Every known limit holds through {through}, so there is nothing to file."),
    }
}

/// What else is to be decided, counted.
fn rest(plan: &Plan) -> Option<String> {
    let due = plan.quota_requests.iter().filter(|request| request.decision != "planned").count();
    let more = due.saturating_sub(1);
    let change =
        |row: &&ReservationPlan| ["step_down", "let_lapse", "step_up", "buy"].contains(&row.action.as_str());
    let mut parts = Vec::new();
    if more > 0 {
        parts.push(format!("{more} more request{} must be filed", if more == 1 { "" } else { "s" }));
    }
    if let Some(row) = plan.reservations.iter().find(change) {
        let what = match row.action.as_str() {
            "let_lapse" => "should lapse".to_owned(),
            _ => format!("should go from {} to {} units", row.held, row.recommended),
        };
        let used = row.utilization.map_or_else(String::new, |used| format!(", {:.0} % used,", used * 100.0));
        if row.held == 0 {
            let term = row.term.as_deref().unwrap_or("a term");
            let recommended = Quantity::from(row.recommended);
            parts.push(format!("{recommended} {} should be reserved for {term} in {}", row.unit, row.pool));
        } else {
            parts.push(format!("the reservation of {} {} in {}{used} {what}", row.held, row.unit, row.pool));
        }
    }
    let said = parts.join(", and ");
    let mut letters = said.chars();
    letters.next().map(|first| format!("{}{}.", first.to_uppercase(), letters.as_str()))
}
