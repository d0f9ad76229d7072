//! What a ledger may not say: dates out of order, outcomes without a decision, one request twice.

use plimsoll_catalog::PoolKey;
use plimsoll_toml::meant;

use super::file::{FILE, Ledger, LedgerRequest};
use crate::SpecError;
use crate::place::Place;
use crate::spec::LIMIT_DIMENSIONS;

/// The first contradiction, if any, with its line.
pub(super) fn check(ledger: &Ledger, text: &str) -> Result<(), SpecError> {
    for (index, request) in ledger.requests.iter().enumerate() {
        let place = Place::entry("request", index, &format!("{} {}", request.pool, request.dimension));
        if let Some((key, problem)) = problem(request) {
            return Err(place.key(key).refuse(FILE, text, problem));
        }
        if let Some(earlier) = ledger.requests.iter().take(index).find(|other| same(request, other)) {
            let problem = format!("stands on line {} already: keep one of them", earlier.line);
            return Err(place.refuse(FILE, text, problem));
        }
    }
    Ok(())
}

/// The same asking twice: one record copied, or the same quota open twice for one event.
fn same(one: &LedgerRequest, other: &LedgerRequest) -> bool {
    let quota = |request: &LedgerRequest| {
        [Some(&request.pool), request.account.as_ref(), request.region.as_ref(), Some(&request.dimension)]
            .map(|part| part.cloned())
    };
    let both_open = one.decided.is_none() && other.decided.is_none() && one.event == other.event;
    let copied = (one.filed, one.decided, one.asked, one.granted, &one.event, &one.case)
        == (other.filed, other.decided, other.asked, other.granted, &other.event, &other.case);
    quota(one) == quota(other) && (both_open || copied)
}

/// What is wrong with one entry: at which key, and what to do.
fn problem(request: &LedgerRequest) -> Option<(&'static str, String)> {
    if let Err(error) = request.pool.parse::<PoolKey>() {
        return Some(("pool", error.to_string()));
    }
    if !LIMIT_DIMENSIONS.contains(&request.dimension.as_str()) {
        let meant = meant(&request.dimension, LIMIT_DIMENSIONS);
        let known = LIMIT_DIMENSIONS.join(", ");
        return Some((
            "dimension",
            format!("unknown dimension `{}`{meant} (there are {known})", request.dimension),
        ));
    }
    if request.asked == 0 {
        return Some(("asked", "is zero: give the limit that was asked for".to_owned()));
    }
    let dates = match (request.drafted, request.filed, request.decided) {
        (_, None, Some(_)) => ("decided", "is decided but was never filed: give the day it was filed"),
        (None, None, None) => ("dimension", "is neither drafted nor filed: give the day"),
        (Some(drafted), Some(filed), _) if filed < drafted => {
            ("filed", "was filed before it was drafted: mend the dates")
        }
        (_, Some(filed), Some(decided)) if decided < filed => {
            ("decided", "was decided before it was filed: mend the dates")
        }
        (.., None) if request.granted.is_some() => {
            ("granted", "is granted but not decided: give the day of the decision")
        }
        (.., Some(_)) if request.granted.is_none() => {
            ("decided", "is decided without an outcome: give `granted`, 0 where it was denied")
        }
        _ => return None,
    };
    Some((dates.0, dates.1.to_owned()))
}
