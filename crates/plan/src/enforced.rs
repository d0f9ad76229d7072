//! How the limits of a pool are enforced, as far as what was refused tells.
//!
//! The catalog tells the rule and the spec how much; how much of it may come at once no provider tells. Of the
//! hour in which most was refused every attempt is held against the limit of that day: the refusals say
//! whether the model is right, and how much a token bucket holds. The invariant: without refusals nothing is
//! claimed, and what the model does not explain is said, since then no replay of it shows what is enough.

use jiff::Timestamp;
use plimsoll_replay::{Draw, Explained, Micros, Quota, Seen, Window, explained, holds};

use crate::context::{Context, PoolId};
use crate::demand::{Counted, Kind};
use crate::pools::{all_counted, limit_on};
use crate::stage::quota;
use crate::{AttemptMeasured, PoolMeasured};

/// One in so many attempts that were let in against a model is enough to drop it.
const CONTRADICTS: u64 = 50;

/// What was learned of one pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Enforced {
    /// The dimension whose token bucket has made the refusals, and the time in which what it holds flows in,
    /// where that is less than the window.
    pub(crate) burst: Option<(String, Window)>,
    /// Refusals that were seen, and how many of them the model then explains.
    pub(crate) refusals: Explained,
    /// Whether it is seen that refused attempts are not counted.
    pub(crate) refused_free: bool,
}

/// Every pool that refused something, with what that tells.
pub(crate) fn enforced(context: &Context<'_>) -> Vec<(PoolId, Enforced)> {
    let pools = all_counted(context).into_iter();
    pools
        .filter_map(|(id, counted)| {
            let learned = learn(context, &id, &counted, context.pool_measured(&id)?)?;
            Some((id, learned))
        })
        .collect()
}

/// `None` where no refusal tells anything.
fn learn(
    context: &Context<'_>,
    id: &PoolId,
    counted: &[Counted],
    measured: &PoolMeasured,
) -> Option<Enforced> {
    let first = measured.refusals.first()?;
    let at = Timestamp::from_microsecond(i64::try_from(first.at_us).ok()?).ok()?;
    let day = context.input.calendar.local_date(at);
    let (mut quotas, mut measures): (Vec<Quota>, Vec<&str>) = (Vec::new(), Vec::new());
    for counted in counted {
        if let (Kind::PerMinute(measure), Some(most)) = (&counted.kind, limit_on(context, id, counted, day)) {
            // Whether refused attempts count too is asked last.
            quotas.push(Quota { refused_count: false, ..quota(context, id, counted, most) });
            measures.push(measure);
        }
    }
    let seen: Vec<Seen> = measured.refusals.iter().map(|attempt| seen(attempt, &measures)).collect();
    let plain = explained(&quotas, &seen);
    if plain.refused == 0 {
        return None;
    }
    let (mut burst, mut refusals) = (None, plain);
    if !plain.enough()
        && let Some((at, window, better)) = holds(&quotas, &seen)
        && let Some(decides) = quotas.get_mut(at)
    {
        *decides = decides.with_burst(window);
        (burst, refusals) = (Some((decides.dimension.clone(), window)), better);
    }
    // Counting what is not counted would have refused a good part of what was let in.
    quotas.iter_mut().for_each(|quota| quota.refused_count = true);
    let let_in = seen.iter().filter(|attempt| !attempt.refused).count() as u64;
    let contradicted = explained(&quotas, &seen).contradicted;
    let refused_free = refusals.enough()
        && refusals.contradicted * CONTRADICTS <= let_in
        && contradicted * CONTRADICTS > let_in;
    Some(Enforced { burst, refusals, refused_free })
}

/// An attempt as the limits on these measures see it.
fn seen(attempt: &AttemptMeasured, measures: &[&str]) -> Seen {
    let draw = |measure: &&str| {
        let (admission, settlement) = match *measure {
            "requests" => (attempt.admission_requests, attempt.settlement_requests),
            "input_tokens" => (attempt.admission_input_tokens, attempt.settlement_input_tokens),
            "output_tokens" => (attempt.admission_output_tokens, attempt.settlement_output_tokens),
            "tokens" => (attempt.admission_tokens, attempt.settlement_tokens),
            _ => return None,
        };
        let admission = admission?;
        Some(Draw { admission, settlement: settlement.unwrap_or(admission) })
    };
    Seen {
        at: Micros(attempt.at_us),
        until: Micros(attempt.until_us),
        draws: measures.iter().map(draw).collect(),
        refused: attempt.refused,
    }
}
