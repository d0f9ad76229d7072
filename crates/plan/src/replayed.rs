//! The smallest limit at which a coming instant is served, by replaying measured runs at its rates.
//!
//! Leaves the making of arrivals and limits to `stage`, and headroom to `need`. The invariant: the same
//! input gives the same figure, since seeds are numbers from 1 on and nothing else is left to chance.

use plimsoll_replay::{Explained, PartsPerMillion, Replay, Search, need};

use crate::ReplayPlan;
use crate::cast::Cast;
use crate::context::{Context, PoolId};
use crate::demand::{Counted, Kind};
use crate::rates::Rates;
use crate::stage::Stage;

/// Times that the same hour is replayed, each with arrivals of its own.
pub const REPLAY_SEEDS: u64 = 5;

/// Calls that a search replays for each limit that it tries, over all seeds: a limit that binds at so
/// many calls is known far better than the rates are.
const CALLS: f64 = 200_000.0;

/// Minutes of one replay, at least and at most.
const MINUTES: (f64, f64) = (10.0, 60.0);

/// Replays a pool's limit at these rates. `None` where there is nothing to replay: a limit that is not
/// of a minute, no sampled runs whose usage is known, or no rate above 0.
pub(crate) fn replayed(
    context: &Context<'_>,
    pool: &PoolId,
    counted: &Counted,
    rates: &Rates<'_>,
) -> Option<ReplayPlan> {
    if !matches!(counted.kind, Kind::PerMinute(_)) {
        return None;
    }
    let stage = Stage::one(context, pool, counted);
    let cast = stage.cast(rates)?;
    let minutes = replay_minutes(cast.calls_per_min);
    let cases = cast.cases(minutes, REPLAY_SEEDS)?;
    let minutes = cases.first().map_or(minutes, |(_, counted)| (counted.until - counted.from).as_minutes());
    // The amount is what is searched for.
    let world = stage.world(|_, _| Some(0));
    let replay = Replay::new(&world, &cast.runs).ok()?;
    let found = need(&replay, &cases, &Search::new(0, targets(context))).ok()?;
    Some(ReplayPlan {
        most: found.most,
        upper: found.upper,
        busiest_window: found.peak,
        holds_s: context.burst(pool, &counted.dimension).map(|burst| burst.0),
        minutes: minutes.round() as u64,
        seeds: REPLAY_SEEDS,
        runs: cast.runs.len() as u64,
        operations: found.operations,
        monotone: found.monotone,
        cut_short: cast.cut.0 + cast.cut.1,
        lower_bound: lower_bound(context, pool, &cast),
    })
}

/// Why what was replayed shows less than was wanted, where it does.
fn lower_bound(context: &Context<'_>, pool: &PoolId, cast: &Cast) -> Option<String> {
    if cast.cut.1 > 0 {
        return Some(format!(
            "{} runs were ended by a limit before any other run of theirs had ended, so what they would have gone on \
             to draw is not known",
            cast.cut.1
        ));
    }
    let refusals = context.enforced(pool)?.refusals;
    let Explained { refused, explained, .. } = refusals;
    (!refusals.enough()).then(|| {
        format!(
            "of {refused} refusals that were looked at the limit, as it is modelled, explains {explained}, \
             so the provider refuses by a rule that the replay does not know"
        )
    })
}

/// Minutes of one replay at so many calls a minute.
#[must_use]
pub fn replay_minutes(calls_per_min: f64) -> f64 {
    let wanted = CALLS / REPLAY_SEEDS as f64 / calls_per_min.max(f64::MIN_POSITIVE);
    wanted.clamp(MINUTES.0, MINUTES.1)
}

/// Shares of operations that may be throttled, by tier.
pub(crate) fn targets(context: &Context<'_>) -> Vec<PartsPerMillion> {
    context.spec().policy.throttle_target.by_tier()
}
