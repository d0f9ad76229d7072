//! What the past tells of a deployment: the minutes that were measured, and how far held units were used.
//!
//! Stands in for the replay where there is nothing to replay: in quick plans, and where usage is not known.
//! The invariant: a minute that the lake covers and that shows no draw is an idle one.

use std::collections::BTreeSet;

use plimsoll_catalog::Unit;

use super::curve::Curve;
use super::demand::{Part, lengths};
use super::group::Member;
use crate::PoolMeasured;
use crate::context::{Context, PoolId};
use crate::demand::per_run;
use crate::horizon::Horizon;
use crate::quantity::Quantity;
use crate::rates::{Rates, Rhythm};

/// The minutes of one pool.
struct Minutes<'a> {
    amounts: &'a [u64],
    covered: u64,
}

fn minutes<'a>(pool: &'a PoolMeasured, unit: &Unit) -> Option<Minutes<'a>> {
    let measure = format!("settlement.{}", unit.carries.measure());
    let amounts = pool.minute_amounts.get(&measure)?.as_slice();
    let covered = pool.minutes_covered.max(amounts.len() as u64);
    (covered > 0).then_some(Minutes { amounts, covered })
}

/// Minutes that the lake covers of any pool that a deployment serves.
pub(super) fn covered(context: &Context<'_>, member: &Member<'_>) -> u64 {
    let pools = member.serves.iter().filter_map(|id| context.pool_measured(id));
    let of = |pool: &PoolMeasured| {
        let minutes = member.unit.and_then(|unit| minutes(pool, unit));
        minutes.map_or(pool.minutes_covered, |minutes| minutes.covered)
    };
    pools.map(of).max().unwrap_or(0)
}

/// The load-duration curve of the measured minutes; `None` where none was measured.
pub(super) fn curve(context: &Context<'_>, member: &Member<'_>, window_s: u32) -> Option<Curve> {
    let unit = member.unit?;
    let pools = member.serves.iter().filter_map(|id| context.pool_measured(id));
    let all: Vec<Minutes<'_>> = pools.filter_map(|pool| minutes(pool, unit)).collect();
    let covered = all.iter().map(|minutes| minutes.covered).max()?;
    // Windows shorter than a minute are taken to be alike within it.
    let evened = |amount: &u64| {
        u64::try_from((u128::from(*amount) * u128::from(window_s)).div_ceil(60)).unwrap_or(u64::MAX)
    };
    let busy: Vec<(u64, u64)> =
        all.iter().flat_map(|minutes| minutes.amounts).map(|amount| (evened(amount), 60)).collect();
    let idle = covered.saturating_sub(busy.len() as u64) * 60;
    Some(Curve::new(window_s, busy, idle))
}

/// Share of held units that was used over the covered minutes.
pub(super) fn used(context: &Context<'_>, members: &[Member<'_>], held: u64) -> Option<Quantity> {
    let mut used = None;
    for member in members {
        // No deployment gives more than all that is held.
        let Some(capacity) = member.unit.and_then(|unit| unit.budget(held, 60)) else { continue };
        let Some(curve) = curve(context, member, 60) else { continue };
        used = Some(used.unwrap_or_default() + curve.used(capacity)?);
    }
    used
}

/// The measured minutes as the whole of a term, with the floors of the rates ahead.
pub(super) fn parts(
    context: &Context<'_>,
    rhythm: &Rhythm<'_>,
    horizon: &Horizon,
    member: &Member<'_>,
) -> Option<Vec<Part>> {
    let unit = member.unit?;
    let curves: Vec<Curve> = lengths(unit, member)
        .into_iter()
        .map(|length| curve(context, member, length))
        .collect::<Option<_>>()?;
    let seconds = covered(context, member) * 60;
    let floors = [0, 1].map(|tier| floor(context, rhythm, horizon, member, tier));
    Some(vec![Part { event: None, share: Quantity::one(), seconds, curves, floors }])
}

/// The largest floor of ordinary hours, a minute: of workflows of that tier or a more urgent one.
fn floor(
    context: &Context<'_>,
    rhythm: &Rhythm<'_>,
    horizon: &Horizon,
    member: &Member<'_>,
    tier: u8,
) -> Quantity {
    let urgent = |name: &&str| member.takes(context, name) && member.has_floor(context, name, tier);
    let names: BTreeSet<&str> = member.workflows(context).into_iter().filter(urgent).collect();
    let Some(measure) = member.unit.map(|unit| format!("settlement.{}", unit.carries.measure())) else {
        return Quantity::zero();
    };
    if names.is_empty() {
        return Quantity::zero();
    }
    let drawn = |rates: &Rates<'_>| -> Quantity {
        let of = |(name, pool): (&&str, &PoolId)| {
            let draw = per_run(context, context.workflow(name)?, pool, &measure, None)?;
            Some(&draw.percentile * &rates.get(*name)?.per_min)
        };
        let pairs = names.iter().flat_map(|name| member.serves.iter().map(move |pool| (name, pool)));
        pairs.filter_map(of).sum()
    };
    let mut seen = BTreeSet::new();
    let ordinary = horizon.states.iter().filter(|state| state.on.is_empty() && seen.insert(state.alike));
    ordinary.map(|state| drawn(&rhythm.of(state.at, &[], &names))).max().unwrap_or_default()
}
