//! At most four figures that sum a plan up: what to file, how tight the tightest limit is, what reserved units
//! cost now and after, and what stays unpaid or waits. One that is not known is left out, not shown as zero.

use std::collections::BTreeSet;

use plimsoll_plan::{Plan, ReservationPlan, UnsignedWorkflow};
use rust_decimal::Decimal;
use serde::Serialize;

use crate::{
    figures::urgency,
    format::{about, count, day, month_year, usd, usd_decimal},
    local::Local,
    names,
};

/// Most figures in the band.
const MOST: usize = 4;

/// A figure with what it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct KeyFigure {
    /// The figure.
    pub(crate) figure: String,
    /// What it is of.
    pub(crate) what: String,
}

pub(super) fn list(plan: &Plan, local: &Local) -> Vec<KeyFigure> {
    let harm = harm(plan, local).or_else(|| tightest(plan, local));
    let candidates = [Some(requests(plan)), harm, cost(plan), spend(plan), next_event(plan, local)];
    candidates.into_iter().flatten().take(MOST).collect()
}

/// Requests to file now, or those planned where none is due.
fn requests(plan: &Plan) -> KeyFigure {
    let with = |wanted: &[&str]| {
        let matching = plan.quota_requests.iter();
        matching.filter(|r| wanted.contains(&r.decision.as_str())).count() as u64
    };
    let (now, late, planned) = (with(&["file_now", "late"]), with(&["late"]), with(&["planned"]));
    let noun = |n: u64| if n == 1 { "request" } else { "requests" };
    if now > 0 {
        let late = if late > 0 { format!(", {late} of them late") } else { String::new() };
        KeyFigure { figure: now.to_string(), what: format!("{} to file now{late}", noun(now)) }
    } else if planned > 0 {
        KeyFigure { figure: planned.to_string(), what: format!("{} planned, none due", noun(planned)) }
    } else {
        KeyFigure { figure: "none".to_owned(), what: "no request to file".to_owned() }
    }
}

/// What happens to the most urgent tier that is hit if nothing is signed.
fn harm(plan: &Plan, local: &Local) -> Option<KeyFigure> {
    let hit = plan.unsigned.iter().flat_map(|u| u.workflows.iter().map(move |w| (u, w)));
    let (unsigned, workflow) = hit.filter(|(_, w)| super::breaks::is_harmed(w)).min_by(|a, b| {
        let harm = |w: &UnsignedWorkflow| w.today.throttled_share;
        a.1.tier.cmp(&b.1.tier).then(harm(b.1).total_cmp(&harm(a.1)))
    })?;
    let today = &workflow.today;
    let (share, what, became) = if today.lost_share >= today.throttled_share {
        (today.lost_share, "runs", "lost")
    } else {
        (today.throttled_share, "calls", "refused")
    };
    Some(KeyFigure {
        figure: about(share),
        what: format!(
            "of the {what} of {}, tier {}, {became} on {} if nothing is signed",
            workflow.workflow,
            workflow.tier,
            day(local.day(unsigned.at))
        ),
    })
}

/// The limit that is closest to being passed, or farthest beyond.
fn tightest(plan: &Plan, local: &Local) -> Option<KeyFigure> {
    let (pool, dimension, used) = super::one::dimensions(plan)
        .filter_map(|(pool, d)| Some((pool, d, d.utilization_p95?)))
        .max_by(|a, b| urgency(a.1).cmp(&urgency(b.1)).then(a.2.total_cmp(&b.2)))?;
    let at = match (&dimension.event, dimension.event_start) {
        (Some(_), Some(start)) => format!(" on {}", day(local.day(start))),
        _ => String::new(),
    };
    Some(KeyFigure {
        figure: format!("{} of the limit", about(used)),
        what: format!("{}, {}, P95{at}", names::model(&pool.pool), names::dimension(&dimension.dimension)),
    })
}

/// The sum of an amount over the reservations; none where any of them is unknown.
fn sum<'p>(plan: &'p Plan, amount: impl Fn(&'p ReservationPlan) -> Option<&'p String>) -> Option<Decimal> {
    if plan.reservations.is_empty() {
        return None;
    }
    plan.reservations
        .iter()
        .map(|r| amount(r).and_then(|text| text.parse::<Decimal>().ok()))
        .try_fold(Decimal::ZERO, |sum, next| sum.checked_add(next?))
}

/// What the same work costs with the units that are held: reservation and overflow.
pub(super) fn with_held(reservation: &ReservationPlan) -> Option<&String> {
    if reservation.recommended == reservation.held {
        return reservation.total_usd.as_ref().or(reservation.monthly_cost_usd.as_ref());
    }
    // Of several terms the dearest stands for the one that is held: the shortest.
    let held = reservation.alternatives.iter().filter(|a| a.units == reservation.held);
    let dearest = held.max_by_key(|a| a.monthly_cost_usd.parse::<Decimal>().ok());
    dearest.map(|a| &a.monthly_cost_usd).or(reservation.held_cost_usd.as_ref())
}

/// Reserved units and what overflows them, now and after, with what idles and what insures.
fn cost(plan: &Plan) -> Option<KeyFigure> {
    let now = sum(plan, with_held)?;
    let then = sum(plan, |r| r.total_usd.as_ref().or(r.monthly_cost_usd.as_ref()))?;
    let mut what = "a month, reserved units and their overflow".to_owned();
    if now != then {
        what += ", after the actions below";
    }
    if let Some(idle) = sum(plan, |r| r.idle_usd.as_ref()) {
        what += &format!("; {} of it idle today", usd_decimal(idle));
    }
    if let Some(insurance) = sum(plan, |r| r.insurance_usd.as_ref()) {
        let tiers: BTreeSet<u8> = plan.reservations.iter().filter_map(|r| r.insures).collect();
        let tiers: Vec<String> = tiers.iter().map(|tier| format!("tier {tier}")).collect();
        let whom = if tiers.is_empty() { String::new() } else { format!(" {}", tiers.join(" and ")) };
        what += &format!("; then {} of it insures{whom}", usd_decimal(insurance));
    }
    let figure = if now == then {
        usd_decimal(now)
    } else {
        format!("{} \u{2192} {}", usd_decimal(now), usd_decimal(then))
    };
    Some(KeyFigure { figure, what })
}

/// What the first month costs in all, against the budget.
fn spend(plan: &Plan) -> Option<KeyFigure> {
    let month = plan.spend.first()?;
    let against = match (&month.over_usd, &month.budget_usd) {
        (Some(over), _) => format!(", {} over budget", usd(over)),
        (None, Some(budget)) => format!(", of a budget of {}", usd(budget)),
        (None, None) => String::new(),
    };
    Some(KeyFigure {
        figure: usd(&month.total_usd),
        what: format!("expected in {}{against}; all workflows", month_year(&month.month)),
    })
}

fn next_event(plan: &Plan, local: &Local) -> Option<KeyFigure> {
    let event = plan.events.iter().find(|e| e.start > plan.as_of)?;
    let start = local.day(event.start);
    let days = start.duration_since(local.day(plan.as_of)).as_hours() / 24;
    Some(KeyFigure {
        figure: count(days.unsigned_abs(), "day", "days"),
        what: format!("to the next {}, {}", event.event, day(start)),
    })
}
