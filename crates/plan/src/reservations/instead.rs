//! Whether the on-demand pool of the same model carries the calls once units are given back.
//!
//! A reservation that lapses moves its calls to a limit that somebody else may have sized. The invariant:
//! the limit is held against the same calls by its own meter, at the larger of what they are charged when they
//! start and when they end.

use std::collections::BTreeSet;

use plimsoll_catalog::{Entry, Measure};

use super::demand::{is_for, percentile};
use super::group::Member;
use crate::SampledCall;
use crate::context::{Context, PoolId};
use crate::demand::Kind;
use crate::horizon::Horizon;
use crate::pools::{counted, limit_on};
use crate::quantity::Quantity;
use crate::rates::Rhythm;
use crate::sampled::{served, used};

/// What to see to before a deployment's calls go on demand, as one sentence.
pub(super) fn before_it_lapses(
    context: &Context<'_>,
    rhythm: &Rhythm<'_>,
    horizon: &Horizon,
    member: &Member<'_>,
) -> String {
    let Some(pool) = member.spills_to.first() else {
        return "first name the on-demand pool of the same model in [[pool]], with its quota: none is in the plan"
            .to_owned();
    };
    let limit = limit_of(context, pool);
    let wanted = context
        .entry(&pool.pool)
        .zip(limit.as_ref())
        .and_then(|(entry, (_, measure, _))| busiest(context, rhythm, horizon, member, entry, *measure));
    let percentile = context.percentile_name();
    match (limit, wanted) {
        (Some((name, _, Some(limit))), Some(wanted)) => {
            let carries = match wanted <= limit {
                true => "carries all of the calls",
                false => "does not carry all of the calls, so ask for more first",
            };
            format!(
                "{} with its limit of {} {name} {carries}, whose {percentile} is {} at their busiest",
                pool.pool,
                Quantity::from(limit),
                Quantity::from(wanted),
            )
        }
        _ => format!(
            "first find out what limit {} has, since the calls go there: it is not in the plan",
            pool.pool
        ),
    }
}

/// The limit on tokens a minute of a pool: its name, what it counts, how much.
fn limit_of(context: &Context<'_>, pool: &PoolId) -> Option<(String, Measure, Option<u64>)> {
    let tokens = [Measure::Tokens, Measure::InputTokens];
    let found = counted(context, pool).into_iter().find_map(|counted| {
        let Kind::PerMinute(measure) = &counted.kind else { return None };
        let measure = tokens.into_iter().find(|known| known.to_string() == *measure)?;
        Some((counted, measure))
    });
    let (counted, measure) = found?;
    let limit = limit_on(context, pool, &counted, context.today);
    Some((counted.dimension.replace("_per_min", " a minute").replace('_', " "), measure, limit))
}

/// The percentile of a run's draw by another meter x runs a minute, summed, at the instant with most of it.
fn busiest(
    context: &Context<'_>,
    rhythm: &Rhythm<'_>,
    horizon: &Horizon,
    member: &Member<'_>,
    entry: &Entry,
    measure: Measure,
) -> Option<u64> {
    let draw = |call: &SampledCall| {
        let metered = entry.meter(&used(call)?);
        Some(metered.admission.amount(measure).max(metered.settlement.amount(measure)))
    };
    let names = member.workflows(context);
    let of_run = |name: &str| {
        let runs = context.index.runs(name, None).iter();
        let mut totals: Vec<u64> = runs
            .filter_map(|run| {
                let calls = served(run).calls;
                calls.iter().filter(|call| is_for(member, call)).map(draw).sum::<Option<u64>>()
            })
            .collect();
        totals.sort_unstable();
        (!totals.is_empty()).then(|| percentile(&totals, &context.spec().policy.percentile))
    };
    let drawn: Vec<(&str, Quantity)> =
        names.iter().map(|name| Some((*name, of_run(name)?))).collect::<Option<_>>()?;
    let mut seen = BTreeSet::new();
    let states = horizon.states.iter().filter(|state| seen.insert((state.alike, state.on.clone())));
    let at = |state: &crate::horizon::State| -> Quantity {
        let active: Vec<_> = state.active(context).collect();
        let rates = rhythm.of(state.at, &active, &names);
        drawn.iter().filter_map(|(name, draw)| Some(draw * &rates.get(*name)?.per_min)).sum()
    };
    states.map(at).max().filter(|_| !drawn.is_empty()).map(|most| most.ceil())
}
