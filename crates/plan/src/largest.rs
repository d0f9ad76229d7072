//! The most that each limit of a minute needs at any instant of the horizon, without headroom.
//!
//! A plan shows a need at the first event that passes its limit; whether plans hold is asked of the
//! largest, whatever the limits are. Leaves holding it against anything to `backtest`. The invariant:
//! instants, rates, draws and replays are those of a plan, and so is what it makes of them.

use plimsoll_replay::Quota;
use rayon::prelude::*;

use crate::context::{Context, PlanError, PlanInput, PoolId};
use crate::demand::{Counted, Demand, Draws, Kind};
use crate::need::{busy_minutes, by_replay, was_throttled};
use crate::pools::{all_counted, drawing};
use crate::quantity::Quantity;
use crate::rates::Rhythm;
use crate::replayed::replayed;
use crate::stage::quota;
use crate::timeline::{Instants, Timeline};

/// What one limit of a minute needs at most over the horizon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LargestNeed {
    /// Pool key.
    pub pool: String,
    /// Account.
    pub account: Option<String>,
    /// Region; `None` for global pools.
    pub region: Option<String>,
    /// The limit as its provider enforces it, of no amount.
    pub quota: Quota,
    /// What it counts: `requests`, `input_tokens`, `output_tokens`, `tokens`.
    pub measure: String,
    /// By replay, at the rates that the forecast stays below at P95; as a plan has it, the percentile's
    /// figure where nothing is replayed, and no less where what was replayed is a lower bound.
    pub replayed: u64,
    /// P95 of a run x runs a minute, at the same rates; or of the busy minutes of the history.
    pub p95: u64,
    /// The event that it is needed for; `None` for ordinary hours.
    pub event: Option<String>,
}

/// The needs of every pool that is drawn on, by key, account, region and dimension.
///
/// # Errors
/// As [`crate::make`].
pub fn largest_needs(input: &PlanInput<'_>) -> Result<Vec<LargestNeed>, PlanError> {
    let context = Context::new(input)?;
    let rhythm = Rhythm::new(&context)?;
    let instants = Instants::new(&context, &rhythm);
    let of_pool = |(pool, counted): &(PoolId, Vec<Counted>)| -> Vec<LargestNeed> {
        let timeline = instants.of(&context, &rhythm, &drawing(&context, pool));
        counted.iter().filter_map(|counted| largest(&context, &timeline, pool, counted)).collect()
    };
    let needs: Vec<Vec<LargestNeed>> = all_counted(&context).par_iter().map(of_pool).collect();
    Ok(needs.into_iter().flatten().collect())
}

fn largest(
    context: &Context<'_>,
    timeline: &Timeline<'_>,
    pool: &PoolId,
    counted: &Counted,
) -> Option<LargestNeed> {
    let Kind::PerMinute(measure) = &counted.kind else { return None };
    let mut largest: Option<(Option<usize>, Demand)> = context
        .pool_measured(pool)
        .and_then(|measured| busy_minutes(context, measured, counted))
        .map(|busy| (None, busy));
    let draws = Draws::new(context, pool, counted);
    for (state, rates) in timeline.states.iter().enumerate() {
        let Some(demand) = draws.at(rates) else { continue };
        if largest.as_ref().is_none_or(|(_, largest)| demand.high > largest.high) {
            largest = Some((Some(state), demand));
        }
    }
    let (state, demand) = largest?;
    let moment = timeline.moments.iter().find(|moment| Some(moment.state) == state);
    let occurrence =
        moment.and_then(|moment| moment.occurrence).and_then(|index| context.windows.coming.get(index));
    let event = occurrence.map(|occurrence| occurrence.event.clone());
    let p95 = demand.high.ceil();
    let above = demand.high.over(&demand.floor).unwrap_or_else(Quantity::one);
    let rates = state.and_then(|state| timeline.states.get(state));
    let replay = rates.and_then(|rates| replayed(context, pool, counted, rates));
    let throttled = || event.as_ref().is_some_and(|event| was_throttled(context, &demand, event));
    let replayed = replay.map_or(p95, |replay| by_replay(&replay, &above, p95, throttled));
    Some(LargestNeed {
        pool: pool.pool.clone(),
        account: pool.account.clone(),
        region: pool.region.clone(),
        quota: quota(context, pool, counted, 0),
        measure: measure.clone(),
        replayed,
        p95,
        event,
    })
}
