//! The rows of the plan: one for each reservation that is held, or would pay.
//!
//! The invariant: a row's costs are all of the same demand, that of its own term.

use plimsoll_catalog::HOURS_PER_MONTH;
use rayon::prelude::*;

use super::curve::Curve;
use super::demand::enforced_over;
use super::group::{Group, Member, groups};
use super::instead::before_it_lapses;
use super::measured::{covered, curve, used};
use super::offer::{Market, Offer, best};
use super::search::{Costed, carried_in};
use super::tell;
use crate::context::Context;
use crate::horizon::Horizon;
use crate::money::usd;
use crate::quantity::Quantity;
use crate::rates::Rhythm;
use crate::{Alternative, Deployment, HourlyUnits, ReservationPlan, ReservationReplay};

/// The busiest per cent of the time is told in finer shares, of ten thousandths; the rest by the per cent.
const FINE: [u64; 9] = [0, 1, 2, 5, 10, 20, 35, 50, 75];
/// Minutes below which use is not judged: "below this for a month", taken as four weeks.
const ENOUGH_MINUTES: u64 = 28 * 24 * 60;

/// One row per reservation that is held or would pay.
pub(crate) fn reservations(
    context: &Context<'_>,
    rhythm: &Rhythm<'_>,
    horizon: &Horizon,
) -> Vec<ReservationPlan> {
    let groups = groups(context);
    let rows: Vec<Row> = groups.par_iter().map(|group| row(context, rhythm, horizon, group)).collect();
    let mut kept: Vec<(&Group<'_>, Row)> = Vec::new();
    for (group, row) in groups.iter().zip(rows) {
        let considered = group.members.iter().all(|member| member.on_demand);
        if considered && row.plan.recommended == 0 {
            continue;
        }
        // One product takes the calls of a pool: the one that saves most.
        let rival = kept.iter().position(|(other, _)| considered && shares_pools(other, group));
        match rival.and_then(|at| kept.get_mut(at)) {
            Some(rival) if row.saving > rival.1.saving => *rival = (group, row),
            Some(_) => {}
            None => kept.push((group, row)),
        }
    }
    kept.into_iter().map(|(_, row)| row.plan).collect()
}

struct Row {
    plan: ReservationPlan,
    /// USD a month below all on demand.
    saving: Quantity,
}

fn shares_pools(one: &Group<'_>, other: &Group<'_>) -> bool {
    let serves = |group: &Group<'_>| -> Vec<_> {
        group
            .members
            .iter()
            .filter(|member| member.on_demand)
            .flat_map(|member| member.serves.clone())
            .collect()
    };
    let others = serves(other);
    serves(one).iter().any(|id| others.contains(id))
}

fn row(context: &Context<'_>, rhythm: &Rhythm<'_>, horizon: &Horizon, group: &Group<'_>) -> Row {
    let held = group.units();
    let mut row = Row { plan: begun(context, group), saving: Quantity::zero() };
    let plan = &mut row.plan;
    let known = |member: &Member<'_>| member.unit.is_some_and(|unit| unit.throughput.is_some());
    if !group.members.iter().all(known) {
        plan.reason =
            "the catalog does not know what a unit of this pool serves: add it in a provider file".to_owned();
        return row;
    }
    let market = Market::of(context, rhythm, horizon, group);
    let term = plan.term.clone().unwrap_or_default();
    let held_term = market.term(&term);
    let price_of = |units: u64| Some(&held_term?.unit_month * &Quantity::from(units));
    plan.held_cost_usd = (held > 0).then(|| price_of(held)).flatten().as_ref().map(usd);
    plan.monthly_cost_usd = plan.held_cost_usd.clone();
    let used = (held > 0).then(|| used(context, &group.members, held)).flatten();
    plan.utilization = used.as_ref().map(Quantity::to_f64);
    let idle = used.clone().map(|used| Quantity::one() - used);
    plan.idle_usd = price_of(held).zip(idle).map(|(cost, idle)| usd(&(cost * idle)));
    let covered = group.members.iter().map(|member| covered(context, member)).max().unwrap_or(0);
    let loads = || market.loads.iter().filter_map(|load| load.replayed.as_ref());
    if loads().next().is_some() {
        plan.basis = Some("replayed".to_owned());
        plan.replay = Some(ReservationReplay {
            calls: loads().map(|demand| demand.calls).sum(),
            minutes: loads().map(|demand| demand.minutes).sum(),
            states: loads().map(super::demand::Demand::states).max().unwrap_or(0),
        });
    } else if market.loads.iter().any(|load| !load.parts(HOURS_PER_MONTH).is_empty()) {
        plan.basis = Some("measured".to_owned());
    } else {
        plan.reason = "no minute of this pool was measured: its use is not known".to_owned();
        return row;
    }
    let month = term_hours(&market, &term);
    let floors = market.floors(month, 1);
    plan.floor_units = floors.iter().sum();
    plan.pools = group
        .members
        .iter()
        .zip(&floors)
        .map(|(member, floor)| Deployment { pool: member.key.to_string(), units: 0, floor_units: *floor })
        .collect();
    let [offers, by_cost] =
        [true, false].map(|protects| if market.is_priced() { market.offers(protects) } else { Vec::new() });
    let recommended = best(&offers).zip(best(&by_cost));
    match recommended {
        Some((best, cheapest)) => {
            row.saving = best.saving();
            priced(context, group, &market, plan, covered, (offers.as_slice(), best, cheapest));
        }
        None => {
            let floor = plan.floor_units.min(held);
            plan.recommended = by_use(context, group, used.as_ref()).max(floor);
            if let [only] = plan.pools.as_mut_slice() {
                only.units = plan.recommended;
            }
            plan.monthly_cost_usd = price_of(plan.recommended).as_ref().map(usd);
            plan.reason = format!(
                "{}; what the same tokens cost on demand is not known, so use alone is judged, by policy.idle_reservation",
                tell::use_of(plan, covered, None)
            );
        }
    }
    plan.load_duration = drawn(context, group, &market, recommended.map(|(best, _)| best));
    plan.action = action(held, plan.recommended).to_owned();
    if covered < ENOUGH_MINUTES {
        plan.action = if plan.action == "hold" { "hold" } else { "unknown" }.to_owned();
        plan.reason += ", but less than four weeks were measured: decide later";
    } else if let Some(used) = used.filter(|used| *used < context.spec().policy.idle_reservation) {
        plan.idle = Some(tell::idle(context, group, &used, plan.recommended));
    }
    let carried = |member: &Member<'_>| before_it_lapses(context, rhythm, horizon, member);
    if let (Some(idle), "hold") = (&mut plan.idle, plan.action.as_str()) {
        let carried: Vec<String> = group.members.iter().map(carried).collect();
        *idle = format!("{idle}; without it: {}", carried.join("; "));
    }
    plan.steps = tell::steps(context, group, plan, carried);
    row
}

/// Hours of the term of that name, else of the shortest that is priced, else of a month.
fn term_hours(market: &Market<'_>, term: &str) -> u32 {
    market.term(term).or(market.terms.first()).map_or(HOURS_PER_MONTH, |price| price.hours)
}

/// What is known of a group before anything is computed.
fn begun(context: &Context<'_>, group: &Group<'_>) -> ReservationPlan {
    let held = group.units();
    let first = group.members.first();
    let entry = first.and_then(|member| member.entry);
    let unit = first.and_then(|member| member.unit);
    let bound_to = match unit {
        Some(unit) if unit.model_independent => "any model of the deployment type".to_owned(),
        _ => first.map(|member| member.key.model().to_owned()).unwrap_or_default(),
    };
    let untold = |of: fn(&crate::context::PoolId) -> Option<&String>| {
        first.and_then(|member| member.serves.iter().find_map(of).cloned())
    };
    ReservationPlan {
        pool: first.map(|member| member.key.to_string()).unwrap_or_default(),
        account: group.account.clone().or_else(|| untold(|id| id.account.as_ref())),
        region: group.region.clone().or_else(|| untold(|id| id.region.as_ref())),
        unit: unit.map_or_else(|| "unit".to_owned(), |unit| unit.name.clone()),
        held,
        recommended: held,
        term: group.held.first().map(|held| held.term.clone()),
        until: group.held.iter().filter_map(|held| held.until).min(),
        action: "unknown".to_owned(),
        window_s: first.zip(unit).map_or(60, |(member, unit)| enforced_over(unit, member, held)),
        retires: entry.and_then(|entry| entry.retires).filter(|day| *day >= context.today),
        bound_to,
        ..ReservationPlan::default()
    }
}

/// What an offer makes of a row.
fn priced(
    context: &Context<'_>,
    group: &Group<'_>,
    market: &Market<'_>,
    plan: &mut ReservationPlan,
    covered: u64,
    (offers, best, cheapest): (&[Offer], &Offer, &Offer),
) {
    let (held, units) = (plan.held, best.units());
    let single = market.loads.len() == 1;
    let held_term = plan.term.as_deref().and_then(|term| market.term(term));
    let held_offer =
        held_term.filter(|_| single && held > 0).and_then(|term| market.offer(term, true, Some(held)));
    plan.recommended = units;
    // Of what is held, where anything is: its use is judged by its own price.
    let even = held_term.map_or_else(|| best.break_even.clone(), |term| market.break_even(term));
    plan.break_even = even.as_ref().map(Quantity::to_f64);
    plan.expected_utilization = best.used.as_ref().map(Quantity::rounded);
    plan.monthly_cost_usd = Some(usd(&best.sum(|costed| costed.reservation.clone())));
    plan.overflow_usd = Some(usd(&best.sum(|costed| costed.overflow.clone())));
    plan.total_usd = Some(usd(&best.total()));
    plan.on_demand_usd = Some(usd(&best.on_demand));
    plan.floor_units = best.floors.iter().sum();
    plan.by_the_hour = hourly(best);
    let deployments = group.members.iter().zip(best.counts.iter().zip(&best.floors));
    plan.pools = deployments
        .map(|(member, (costed, floor))| Deployment {
            pool: member.key.to_string(),
            units: costed.units,
            floor_units: *floor,
        })
        .collect();
    let extra = cheapest.saving() - best.saving();
    plan.insurance_usd = Some(usd(&extra));
    let mut told = vec![
        tell::use_of(plan, covered, held_term.or(Some(&best.term))),
        tell::cost(plan, best, held_offer.as_ref()),
    ];
    if extra > Quantity::zero() {
        let floor = market.floors(best.term.hours, 0).iter().sum();
        let tier = if floor > cheapest.units() { 0 } else { 1 };
        plan.insures = Some(tier);
        let floor = if tier == 0 { floor } else { plan.floor_units };
        told.push(tell::insurance(cheapest, &extra, tier, floor));
    }
    told.extend(tell::left_out(context, group));
    told.extend(tell::not_on_offer(context, group, market));
    plan.reason = told.join("; ");
    plan.alternatives = alternatives(market, offers, best, held_offer);
    if units > 0 || held == 0 {
        plan.term = Some(best.term.name.clone());
    }
}

/// None, the best count of every other term, the next counts of this one, and what is held.
fn alternatives(
    market: &Market<'_>,
    offers: &[Offer],
    best: &Offer,
    held: Option<Offer>,
) -> Vec<Alternative> {
    let mut rows: Vec<Alternative> = Vec::new();
    if best.units() > 0 {
        rows.push(Alternative {
            units: 0,
            term: best.term.name.clone(),
            monthly_cost_usd: usd(&best.on_demand),
            overflow_usd: Some(usd(&best.on_demand)),
            utilization: None,
            // What costs nothing has no break-even.
            break_even: None,
            covers_floors: best.floors.iter().all(|floor| *floor == 0),
        });
    }
    let other_terms = offers.iter().filter(|offer| offer.term.name != best.term.name);
    let next = market.neighbours(best.units()).into_iter();
    let next: Vec<Offer> =
        next.filter_map(|units| market.offer(&best.term, true, Some(units))).chain(held).collect();
    for offer in other_terms.chain(&next).filter(|offer| offer.units() > 0) {
        let row = tell::alternative(offer);
        let is_best = row.units == best.units() && row.term == best.term.name;
        if !is_best && !rows.iter().any(|other| (other.units, &other.term) == (row.units, &row.term)) {
            rows.push(row);
        }
    }
    rows
}

/// Units by the hour, summed by event.
fn hourly(offer: &Offer) -> Vec<HourlyUnits> {
    let term = Quantity::ratio(offer.seconds, super::curve::MONTH_S).unwrap_or_default();
    let mut rows: Vec<(HourlyUnits, Quantity)> = Vec::new();
    for top_up in offer.counts.iter().flat_map(|costed: &Costed| &costed.by_the_hour) {
        let cost = &top_up.cost * &term;
        match rows.iter_mut().find(|(row, _)| row.event == top_up.event) {
            Some((row, sum)) => {
                row.units += top_up.units;
                *sum = &*sum + &cost;
            }
            None => {
                let (event, minutes) = (top_up.event.clone(), top_up.seconds / 60);
                rows.push((HourlyUnits { event, units: top_up.units, minutes, usd: String::new() }, cost));
            }
        }
    }
    rows.into_iter().map(|(row, sum)| HourlyUnits { usd: usd(&sum), ..row }).collect()
}

/// (share of the time, units that at least so much of it needs), busiest first; of the first deployment.
fn drawn(
    context: &Context<'_>,
    group: &Group<'_>,
    market: &Market<'_>,
    offer: Option<&Offer>,
) -> Vec<(f64, f64)> {
    let Some((member, load)) = group.members.first().zip(market.loads.first()) else { return Vec::new() };
    let Some(unit) = member.unit else { return Vec::new() };
    let hours = offer.map_or(HOURS_PER_MONTH, |offer| offer.term.hours);
    let (window, curve) = match &load.replayed {
        Some(_) => {
            let parts = load.parts(hours);
            let window = enforced_over(unit, member, offer.map_or(1, Offer::units));
            let curves =
                parts.iter().filter_map(|part| part.curves.iter().find(|curve| curve.window_s == window));
            (window, Curve::joined(window, curves))
        }
        None => match curve(context, member, 60) {
            Some(curve) => (60, curve),
            None => return Vec::new(),
        },
    };
    let Some(a_unit) = carried_in(unit, window.into()) else { return Vec::new() };
    let units = |amount: u64| Quantity::from(amount).over(&a_unit).map_or(0.0, |units| units.to_f64());
    let shares = FINE.into_iter().chain((1..=100).map(|percent| percent * 100));
    shares.map(|share| (share as f64 / 1e4, units(curve.reached(share, 10_000)))).collect()
}

fn action(held: u64, recommended: u64) -> &'static str {
    match (held, recommended) {
        (held, recommended) if held == recommended => "hold",
        (_, 0) => "let_lapse",
        (0, _) => "buy",
        (held, recommended) if recommended < held => "step_down",
        _ => "step_up",
    }
}

/// Without prices: hold what is used enough; else the count that the busiest twentieth of minutes
/// fills, and nothing where even the smallest count sold would idle.
fn by_use(context: &Context<'_>, group: &Group<'_>, used: Option<&Quantity>) -> u64 {
    let (idle, held) = (&context.spec().policy.idle_reservation, group.units());
    let [member] = group.members.as_slice() else { return held };
    if used.is_none_or(|used| used >= idle) {
        return held;
    }
    let fewest = || {
        let unit = member.unit?;
        let curve = curve(context, member, 60)?;
        let a_unit = unit.budget(1, 60)?;
        let wanted = curve.reached(1, 20).div_ceil(a_unit.max(1));
        let count = unit.sold(&num_rational::Ratio::from(u128::from(wanted)))?.min(held);
        let fills = curve.used(unit.budget(count, 60)?)? >= *idle;
        Some(if wanted > 0 && fills { count } else { 0 })
    };
    fewest().unwrap_or(held)
}
