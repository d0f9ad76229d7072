//! Every pool with what each of its limits needs, and what is asked for where limits are raised.
//!
//! Leaves one limit's arithmetic to `need`. The invariants: a pool that telemetry shows is in the
//! plan whether or not the spec knows it; an ask lands on a step that covers the need, rounded once.

use std::collections::BTreeSet;

use jiff::civil::Date;
use rayon::prelude::*;

use crate::cheaper::{batch, caching};
use crate::context::{Context, PlanError, PoolId};
use crate::deadline::lead;
use crate::demand::{Counted, Kind, calls_inside, demand};
use crate::need::{Needed, need, no_data};
use crate::quantity::Quantity;
use crate::queue::poisson_quantile;
use crate::rates::{Rates, Rhythm};
use crate::timeline::{Instants, Timeline, days};
use crate::{CheaperFix, Contributor, DimensionPlan, LimitStep, PoolConcurrency, PoolPlan};

/// A pool's plan, with what later steps build on.
#[derive(Debug)]
pub(crate) struct PoolWork {
    pub(crate) id: PoolId,
    pub(crate) plan: PoolPlan,
    /// In the order of `plan.dimensions`.
    pub(crate) needed: Vec<Needed>,
    pub(crate) fixes: Vec<CheaperFix>,
}

impl PoolWork {
    /// The dimension with the largest need / limit.
    pub(crate) fn binding(&self) -> Option<&Needed> {
        let name = self.plan.binding.as_deref()?;
        self.needed.iter().find(|needed| needed.plan.dimension == name)
    }
}

/// Works out every pool, by key, account and region.
pub(crate) fn pools(
    context: &Context<'_>,
    rhythm: &Rhythm<'_>,
    instants: &Instants,
) -> Result<Vec<PoolWork>, PlanError> {
    let ids: Vec<&PoolId> = context.pools().iter().collect();
    // The first mistake in the pools' order, whichever thread meets one first.
    let made: Vec<_> = ids.par_iter().map(|id| pool(context, rhythm, instants, (*id).clone())).collect();
    made.into_iter().collect()
}

fn pool(
    context: &Context<'_>,
    rhythm: &Rhythm<'_>,
    instants: &Instants,
    id: PoolId,
) -> Result<PoolWork, PlanError> {
    let lead = lead(context, &id);
    let mut needed = Vec::new();
    let mut fixes = Vec::new();
    let counted = counted(context, &id);
    let drawing = drawing(context, &id);
    let minutes = instants.of(context, rhythm, &drawing);
    let a_day_counts = counted.iter().any(|counted| matches!(counted.kind, Kind::PerDay(_)));
    let days = if a_day_counts { days(context, rhythm, &drawing)? } else { Timeline::default() };
    for counted in &counted {
        let timeline = if matches!(counted.kind, Kind::PerDay(_)) { &days } else { &minutes };
        let limit = |day: Date| limit_on(context, &id, counted, day);
        let mut found = need(context, timeline, &id, counted, &limit, &lead)?;
        found.plan.limits = steps(context, &id, counted);
        fixes.extend(found.fixes.iter().cloned());
        fixes.extend(caching(context, rhythm, &id, counted, &found));
        needed.push(found);
    }
    // Limits that units carry are raised by holding more units, which the reservations tell.
    let from_units = |needed: &Needed| comes_from_units(context, &id, &needed.plan.dimension);
    for needed in needed.iter_mut().filter(|needed| from_units(needed)) {
        if needed.plan.decision != "no_data" {
            needed.plan.decision = "hold".to_owned();
        }
        (needed.plan.file_by, needed.plan.last_safe, needed.largest) = (None, None, None);
        needed.plan.fix_first = false;
    }
    let binding = binding(&needed).map(|binding| binding.plan.dimension.clone());
    ask(context, &id, binding.as_deref(), &mut needed);
    let bound =
        binding.as_deref().and_then(|name| needed.iter().find(|needed| needed.plan.dimension == name));
    let counts = |bound: &Needed| counted.iter().find(|counted| counted.dimension == bound.plan.dimension);
    let bound_by = bound.and_then(|bound| Some((bound, counts(bound)?)));
    fixes.extend(
        bound_by.map(|(bound, counts)| batch(context, &id, counts, bound, &minutes)).unwrap_or_default(),
    );
    let contributors = bound.map(contributors).unwrap_or_default();
    let coincidence =
        bound.and_then(|bound| Some(bound.peaks.0.over(&bound.peaks.1)?.to_f64())).unwrap_or(1.0);
    let concurrency = bound.and_then(|bound| concurrency(context, &id, rhythm, bound));
    let owner = context
        .pool_spec(&id)
        .and_then(|spec| spec.owner.clone())
        .or_else(|| contributors.iter().find_map(|part| context.owner(&part.workflow)));
    let plan = PoolPlan {
        pool: id.pool.clone(),
        account: context.account(&id),
        region: context.region(&id),
        binding,
        dimensions: needed.iter().map(|needed| needed.plan.clone()).collect(),
        contributors,
        coincidence,
        concurrency,
        owner,
        lead_time: lead.plan,
    };
    Ok(PoolWork { id, plan, needed, fixes })
}

/// Takes every figure out again, where too little was measured to plan from: nothing that looks like a plan.
pub(crate) fn without_figures(pools: &mut [PoolWork], why: &str) {
    for pool in pools {
        for needed in &mut pool.needed {
            let row = std::mem::take(&mut needed.plan);
            let why = format!("no figure: {why}");
            needed.plan = DimensionPlan {
                limits: row.limits,
                ..no_data(&row.dimension, row.window_s, row.limit, &why)
            };
            (needed.demand, needed.at, needed.largest) = (None, None, None);
            needed.fixes.clear();
        }
        pool.fixes.clear();
        let plan = &mut pool.plan;
        plan.dimensions = pool.needed.iter().map(|needed| needed.plan.clone()).collect();
        (plan.binding, plan.concurrency, plan.coincidence) = (None, None, 1.0);
        plan.contributors.clear();
    }
}

/// Every pool with what its limits count.
pub(crate) fn all_counted(context: &Context<'_>) -> Vec<(PoolId, Vec<Counted>)> {
    context.pools().iter().map(|id| (id.clone(), counted(context, id))).collect()
}

/// What the pool's limits count: the catalog's dimensions and those that the spec limits; where
/// neither names any, what telemetry has measures for.
pub(crate) fn counted(context: &Context<'_>, id: &PoolId) -> Vec<Counted> {
    let limited = context.pool_spec(id).map(|spec| spec.dimensions()).unwrap_or_default();
    let described = context.entry(&id.pool).map(|entry| entry.dimensions.as_slice()).unwrap_or_default();
    let mut found: Vec<Counted> = described
        .iter()
        .filter(|dimension| !dimension.only_where_listed || limited.contains(&dimension.name.as_str()))
        .map(Counted::described)
        .collect();
    for dimension in limited {
        if !found.iter().any(|counted| counted.dimension == dimension) {
            found.push(Counted::named(dimension));
        }
    }
    if found.is_empty() {
        let measures = ["requests", "input_tokens", "output_tokens", "tokens"].into_iter();
        let drawn = measures.filter(|measure| is_drawn(context, id, measure));
        found.extend(drawn.map(|measure| Counted::named(&format!("{measure}_per_min"))));
    }
    found
}

/// Whether telemetry shows any draw of a measure on the pool.
fn is_drawn(context: &Context<'_>, id: &PoolId, measure: &str) -> bool {
    let stages = [format!("admission.{measure}"), format!("settlement.{measure}")];
    let mut draws = context.index.drawing(id).iter().flat_map(|workflow| &workflow.draws);
    draws.any(|draw| draw.pool == id.pool && stages.contains(&draw.measure) && draw.per_run.max > 0)
}

fn comes_from_units(context: &Context<'_>, id: &PoolId, dimension: &str) -> bool {
    let described = context.entry(&id.pool).and_then(|entry| entry.dimension(dimension));
    described.is_some_and(|dimension| dimension.from_units)
}

/// The limit on a day: as the spec gives it, or what the held units carry.
pub(crate) fn limit_on(context: &Context<'_>, id: &PoolId, counted: &Counted, day: Date) -> Option<u64> {
    let given = context.pool_spec(id).and_then(|spec| spec.limit(&counted.dimension, day));
    if given.is_some() || !comes_from_units(context, id, &counted.dimension) {
        return given;
    }
    let entry = context.entry(&id.pool)?;
    let counts = entry.dimension(&counted.dimension)?.counts;
    let unit = entry.units.iter().find(|unit| unit.carries.measure() == counts)?;
    let held = context.spec().reservations.iter().filter(|held| held.pool == id.pool);
    let held: u64 =
        held.filter(|held| held.until.is_none_or(|until| day <= until)).map(|held| held.units).sum();
    let window = u64::from(counted.window_s) * u64::from(held > 0);
    Some(
        (Quantity::from(unit.capacity(held)) * window.into())
            .over(&u64::from(unit.per_s.max(1)).into())?
            .floor(),
    )
    .filter(|limit| *limit > 0)
}

/// The limit on a day once everything is granted that the plan asks for.
pub(crate) fn limit_signed(
    context: &Context<'_>,
    pools: &[PoolWork],
    id: &PoolId,
    counted: &Counted,
    day: Date,
) -> Option<u64> {
    let pool = pools.iter().find(|pool| pool.id == *id);
    let needed =
        pool.and_then(|pool| pool.needed.iter().find(|needed| needed.plan.dimension == counted.dimension));
    needed.and_then(|needed| needed.plan.ask).or_else(|| limit_on(context, id, counted, day))
}

/// The limit over time, for charts.
fn steps(context: &Context<'_>, id: &PoolId, counted: &Counted) -> Vec<LimitStep> {
    let given = context.pool_spec(id).map(|spec| spec.steps(&counted.dimension)).unwrap_or_default();
    let given: Vec<LimitStep> = given.into_iter().map(|(from, value)| LimitStep { from, value }).collect();
    match limit_on(context, id, counted, context.today) {
        Some(value) if given.is_empty() => vec![LimitStep { from: None, value }],
        _ => given,
    }
}

/// The dimension with the largest need / limit, where any limit is known.
fn binding(needed: &[Needed]) -> Option<&Needed> {
    let pressure = |needed: &&Needed| {
        let limit = needed.plan.limit.unwrap_or(1).max(1);
        Quantity::from(needed.plan.need).over(&limit.into())
    };
    let known = || needed.iter().filter(|needed| needed.demand.is_some());
    known().filter(|needed| needed.plan.limit.is_some()).fold(None::<&Needed>, |best, needed| match best {
        Some(best) if pressure(&best) >= pressure(&needed) => Some(best),
        _ => Some(needed),
    })
}

/// What to ask for, where a limit must rise: the smallest step that covers all of the pool's needs,
/// since a tier or a capacity unit raises every limit together; else each need, as it is granted.
fn ask(context: &Context<'_>, id: &PoolId, binding: Option<&str>, needed: &mut [Needed]) {
    let wants: Vec<(String, u64)> =
        needed.iter().filter_map(|needed| Some((needed.plan.dimension.clone(), needed.largest?.0))).collect();
    let Some(grants) = context.entry(&id.pool).map(|entry| &entry.grants) else {
        for needed in needed.iter_mut() {
            needed.plan.ask = needed.largest.map(|(most, _)| most);
        }
        return;
    };
    let wanted = || wants.iter().map(|(dimension, need)| (dimension.as_str(), *need));
    let together = (wants.len() > 1).then(|| grants.step_for(wanted())).flatten();
    let units = grants.units_for(wanted());
    for needed in needed.iter_mut() {
        let Some((most, _)) = needed.largest else { continue };
        let dimension = needed.plan.dimension.as_str();
        let alone = grants.cover(dimension, most);
        let per_unit =
            grants.capacity_unit.as_ref().and_then(|unit| Some((unit, unit.limits.get(dimension)?)));
        (needed.plan.ask, needed.plan.grant_step) = match (together, per_unit, units) {
            (Some(step), ..) => {
                (step.limits.get(dimension).copied().or(Some(alone.limit)), Some(step.name.clone()))
            }
            (None, Some((unit, per_unit)), Some(units)) => (
                Some(units.saturating_mul(*per_unit)),
                Some(format!("{} of {}", Quantity::from(units), unit.name)),
            ),
            _ => (Some(alone.limit), alone.step),
        };
        let told = needed.plan.grant_step.as_deref().map_or_else(String::new, |step| format!(" ({step})"));
        let asked = needed.plan.ask.unwrap_or(most);
        let whose = if binding == Some(dimension) { "" } else { ", with the binding limit" };
        needed
            .plan
            .derivation
            .push(format!("rounded up once to what is granted: {}{told}{whose}", Quantity::from(asked)));
        if alone.above_max {
            needed
                .plan
                .derivation
                .push("more than the channel takes: ask for it in words, in the case's text".to_owned());
        }
    }
}

fn contributors(bound: &Needed) -> Vec<Contributor> {
    let Some(demand) = &bound.demand else { return Vec::new() };
    let share = |part: &crate::demand::Part| Contributor {
        workflow: part.workflow.clone(),
        share: part.floor.over(&demand.floor).map_or(0.0, |share| share.to_f64()),
    };
    demand.parts.iter().map(share).filter(|part| part.share > 0.0).collect()
}

/// Workflows that draw on a pool.
pub(crate) fn drawing<'c>(context: &'c Context<'_>, id: &PoolId) -> BTreeSet<&'c str> {
    context.index.drawing(id).iter().map(|workflow| workflow.workflow.as_str()).collect()
}

/// Rates of the workflows that draw on a pool at the instant that a dimension's row names; empty where it
/// names none.
pub(crate) fn rates_of<'a>(
    context: &Context<'_>,
    rhythm: &Rhythm<'a>,
    id: &PoolId,
    needed: &Needed,
) -> Rates<'a> {
    let Some(at) = needed.at else { return Rates::new() };
    rhythm.of(at, &rhythm.active(at), &drawing(context, id))
}

/// Calls inside at the binding instant.
fn concurrency(
    context: &Context<'_>,
    id: &PoolId,
    rhythm: &Rhythm<'_>,
    bound: &Needed,
) -> Option<PoolConcurrency> {
    let requests =
        demand(context, id, &Counted::named("requests_per_min"), &rates_of(context, rhythm, id, bound))?;
    let mean = calls_inside(context, id, &requests.mean)?.to_f64();
    let measured =
        context.measured().in_flight.iter().find(|at| at.boundary == "model" && at.name == id.pool);
    Some(PoolConcurrency { mean, p95: poisson_quantile(mean, 0.95), max: measured.map(|at| at.max) })
}
