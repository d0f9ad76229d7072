//! The most that each limit of a minute needs at any instant of the horizon, without headroom.
//!
//! A plan shows a need at the first event that passes its limit; whether plans hold is asked of the
//! largest, whatever the limits are. Leaves holding it against anything to `backtest`. The invariant:
//! rates, draws and replays are those of a plan.

use jiff::Timestamp;
use plimsoll_replay::Quota;

use crate::context::{Context, PlanError, PlanInput};
use crate::demand::{Demand, Kind, demand};
use crate::pools::all_counted;
use crate::quantity::Quantity;
use crate::rates::Rhythm;
use crate::replayed::replayed;
use crate::stage::quota;
use crate::timeline::minutes;

/// What one limit of a minute needs at most over the horizon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HorizonNeed {
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
    /// `admission` or `settlement`: whichever asks for more.
    pub basis: &'static str,
    /// By replay, at the rates that the forecast stays below at P95; `None` where nothing can be replayed.
    pub replayed: Option<u64>,
    /// P95 of a run x runs a minute, at the same rates.
    pub p95: u64,
    /// An instant at which it is needed.
    pub at: Timestamp,
    /// The event that it is needed for.
    pub event: Option<String>,
}

/// The needs of every pool that is drawn on, by key, account, region and dimension.
///
/// # Errors
/// As [`crate::make`].
pub fn horizon_needs(input: &PlanInput<'_>) -> Result<Vec<HorizonNeed>, PlanError> {
    let context = Context::new(input)?;
    let rhythm = Rhythm::new(&context)?;
    let timeline = minutes(&context, &rhythm);
    let mut needs = Vec::new();
    for (pool, counted) in all_counted(&context) {
        for counted in &counted {
            let Kind::PerMinute(measure) = &counted.kind else { continue };
            let mut largest: Option<(usize, Demand)> = None;
            for (state, rates) in timeline.states.iter().enumerate() {
                let Some(demand) = demand(&context, &pool, counted, rates) else { continue };
                if largest.as_ref().is_none_or(|(_, largest)| demand.high > largest.high) {
                    largest = Some((state, demand));
                }
            }
            let Some((state, demand)) = largest else { continue };
            let Some(rates) = timeline.states.get(state) else { continue };
            let moment = timeline.moments.iter().find(|moment| moment.state == state);
            let Some(moment) = moment else { continue };
            let occurrence = moment.occurrence.and_then(|index| context.windows.coming.get(index));
            let above = demand.high.over(&demand.floor).unwrap_or_else(Quantity::one);
            let replay = replayed(&context, &pool, counted, rates);
            needs.push(HorizonNeed {
                pool: pool.pool.clone(),
                account: pool.account.clone(),
                region: pool.region.clone(),
                quota: quota(&context, &pool, counted, 0),
                measure: measure.clone(),
                basis: demand.basis,
                replayed: replay.map(|replay| (&Quantity::from(replay.most) * &above).ceil()),
                p95: demand.high.ceil(),
                at: moment.at,
                event: occurrence.map(|occurrence| occurrence.event.clone()),
            });
        }
    }
    Ok(needs)
}
