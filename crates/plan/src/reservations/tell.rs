//! The words of a reservation's row: why, what is idle, and what to do in which order.
//!
//! The invariant: every sentence carries its figure and where it is from.

use super::group::{Group, Member};
use super::offer::{Market, Offer};
use super::prices::{TermPrice, outlives_model};
use crate::context::Context;
use crate::money::usd;
use crate::quantity::Quantity;
use crate::{Alternative, ReservationPlan};

/// The use of what is held, with its n, and the break-even of the term.
pub(super) fn use_of(plan: &ReservationPlan, covered: u64, term: Option<&TermPrice>) -> String {
    let share = plan.utilization.map_or_else(|| "unknown".to_owned(), percent);
    let even = match (plan.break_even, term) {
        (Some(even), Some(term)) => format!("; break-even at {:.0} % by {}", even * 100.0, term.told),
        _ => String::new(),
    };
    match plan.held {
        0 => format!("none is held{even}"),
        held => {
            format!("{share} of {held} units used over {} covered minutes{even}", Quantity::from(covered))
        }
    }
}

/// Where the demand of an offer is from.
pub(super) fn basis(plan: &ReservationPlan) -> String {
    match &plan.replay {
        Some(replay) => format!(
            "over the term at the rates of the calendar ({} calls replayed, {} kinds of hours)",
            Quantity::from(replay.calls),
            replay.states
        ),
        None => "on the minutes that were measured".to_owned(),
    }
}

/// What an offer costs, beside what is held and what nothing would cost.
pub(super) fn cost(plan: &ReservationPlan, offer: &Offer, held: Option<&Offer>) -> String {
    let units = offer.units();
    let held = held.filter(|held| held.units() != units);
    let held = held
        .map_or_else(String::new, |held| format!(", {} with the {} held", usd(&held.total()), held.units()));
    let (total, on_demand) = (usd(&offer.total()), usd(&offer.on_demand));
    let what = match units {
        0 => {
            return format!(
                "none and all on demand cost the least {}, {total} USD a month{held}",
                basis(plan)
            );
        }
        units => format!("{units} units for {} with the rest on demand", offer.term.name),
    };
    format!(
        "{what} cost {total} USD a month for reservation and overflow {}, against {on_demand} all on demand{held}",
        basis(plan)
    )
}

/// What the recommendation costs above the cheapest, for whom.
pub(super) fn insurance(cheapest: &Offer, extra: &Quantity, tier: u8, floor: u64) -> String {
    format!(
        "{} of it a month are insurance: by cost alone {} units would do, and tier {tier} has a floor of {floor}",
        usd(extra),
        cheapest.units(),
    )
}

/// Workflows that are left on demand or sent to batch, of those that call the deployments.
pub(super) fn left_out(context: &Context<'_>, group: &Group<'_>) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for member in &group.members {
        names.extend(member.workflows(context).into_iter().filter(|name| !member.takes(context, name)));
    }
    names.sort_unstable();
    names.dedup();
    (!names.is_empty()).then(|| {
        format!("{} counted out: what can wait goes to batch first, and what its owner wants on demand stays there", match names.as_slice() {
            [one] => format!("{one} is"),
            more => format!("{} are", more.join(", ")),
        })
    })
}

/// What the policy says of idle units, and what could use them.
pub(super) fn idle(context: &Context<'_>, group: &Group<'_>, used: &Quantity, recommended: u64) -> String {
    let limit = &context.spec().policy.idle_reservation;
    let inside: Vec<&str> = group.members.iter().flat_map(|member| member.workflows(context)).collect();
    let beside = |member: &Member<'_>| {
        let names = member.spills_to.iter().flat_map(|id| context.index.drawing(id));
        names
            .map(|workflow| workflow.workflow.clone())
            .filter(|name| !inside.contains(&name.as_str()))
            .collect::<Vec<_>>()
    };
    let mut beside: Vec<String> = group.members.iter().flat_map(beside).collect();
    beside.sort_unstable();
    beside.dedup();
    let held = group.units();
    let least = group.members.first().and_then(|member| member.unit).map_or(1, |unit| unit.min);
    let what = match () {
        () if recommended < held && recommended > 0 => format!("step it down to {recommended}"),
        () if recommended == 0 => "let it lapse".to_owned(),
        () if !beside.is_empty() => {
            format!("move {} onto it, which call the same model on demand", beside.join(", "))
        }
        () if held <= least => format!(
            "no other workflow calls the same model, and {least} are the fewest sold: keep it as insurance, or let it lapse"
        ),
        () => "no other workflow calls the same model: it is kept for its floors alone".to_owned(),
    };
    format!(
        "{} used, below the {} of policy.idle_reservation: {what}",
        percent(used.to_f64()),
        percent(limit.to_f64())
    )
}

/// What to do, in order.
pub(super) fn steps(
    context: &Context<'_>,
    group: &Group<'_>,
    plan: &ReservationPlan,
    carried: impl Fn(&Member<'_>) -> String,
) -> Vec<String> {
    let channel = group.members.first().and_then(|member| member.entry?.channel.as_ref());
    let units = format!("{} {}", Quantity::from(plan.recommended), plan.unit);
    match plan.action.as_str() {
        "buy" | "step_up" => {
            let own = channel.map(|channel| channel.steps.clone()).unwrap_or_default();
            let generic = || {
                let place = channel.map_or("the provider", |channel| channel.name.as_str());
                vec![
                    format!("ask {place} for quota and capacity of {units}"),
                    format!("deploy {units}, and send the calls there"),
                    format!("only then reserve {units} for {}", plan.term.as_deref().unwrap_or("the term")),
                ]
            };
            if own.is_empty() { generic() } else { own }
        }
        "step_down" | "let_lapse" => {
            let cancel = group.held.iter().filter_map(|held| held.cancel_by).min();
            let until = plan.until.map_or_else(String::new, |day| format!(" of {day}"));
            let before = match cancel {
                Some(day) if day >= context.today => format!("cancel the renewal by {day}"),
                _ => format!("do not renew at the term's end{until}"),
            };
            let rest = match plan.recommended {
                0 => "then take the deployment down: its calls go on demand".to_owned(),
                _ => format!(
                    "then reserve {units}, and scale the deployment down to it: capacity that is given back is gone"
                ),
            };
            let mut steps: Vec<String> = group.members.iter().map(carried).collect();
            steps.extend([before, rest]);
            steps
        }
        _ => Vec::new(),
    }
}

/// Terms that are sold and were not looked at, with the reason.
pub(super) fn not_on_offer(context: &Context<'_>, group: &Group<'_>, market: &Market<'_>) -> Option<String> {
    let member = group.members.first()?;
    let known = |name: &str| market.terms.iter().any(|term| term.name == name);
    let missing = member.unit?.terms.iter().filter(|term| !known(&term.name));
    let (late, unpriced): (Vec<_>, Vec<_>) = missing.partition(|term| outlives_model(context, member, term));
    let names = |terms: Vec<&plimsoll_catalog::Term>| {
        terms.iter().map(|term| term.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let mut told = Vec::new();
    if !late.is_empty() {
        told.push(format!("{} outlive the model", names(late)));
    }
    if !unpriced.is_empty() {
        told.push(format!("no price is known of {}", names(unpriced)));
    }
    (!told.is_empty()).then(|| told.join("; "))
}

/// One row of the alternatives.
pub(super) fn alternative(offer: &Offer) -> Alternative {
    Alternative {
        units: offer.units(),
        term: offer.term.name.clone(),
        monthly_cost_usd: usd(&offer.total()),
        overflow_usd: Some(usd(&offer.sum(|costed| costed.overflow.clone()))),
        utilization: offer.used.as_ref().map(Quantity::rounded),
        break_even: offer.break_even.as_ref().map(Quantity::rounded),
        covers_floors: offer.covers_floors(),
    }
}

/// `43 %`, or `0.4 %` where less than one would read as nothing.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 1.0 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}
