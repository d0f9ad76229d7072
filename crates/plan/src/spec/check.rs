//! What a spec must satisfy beyond being well-formed.
//!
//! Each refusal names the place and says what to do. The invariant: a check never changes a value.

use std::collections::BTreeSet;

use jiff::tz::TimeZoneDatabase;
use plimsoll_calendar::Rule;
use plimsoll_catalog::PoolKey;
use plimsoll_toml::meant;

use super::fallback::circle;
use super::{EventSpec, LimitSpec, Policy, PoolSpec, ReservationSpec, Span, Spec, WorkflowSpec};
use crate::place::Place;
use crate::quantity::Quantity;

/// Longest history or horizon, days: ten years.
const LONGEST_DAYS: u32 = 3653;

/// A value that cannot be planned with.
pub(super) struct Refusal {
    /// Where it stands.
    pub(super) place: Place,
    /// What is wrong and what to do.
    pub(super) problem: String,
}

/// The first thing wrong with a spec, if any.
pub(super) fn check(spec: &Spec) -> Result<(), Refusal> {
    policy(&spec.policy)?;
    for (index, pool) in spec.pools.iter().enumerate() {
        let place = Place::entry("pool", index, &pool.key);
        self::pool(&place, pool)?;
        let same = |other: &PoolSpec| {
            (&other.key, &other.account, &other.region) == (&pool.key, &pool.account, &pool.region)
        };
        if spec.pools[..index].iter().any(same) {
            return refuse(place, "is given twice: keep one, or tell them apart by account or region");
        }
    }
    fallbacks(&spec.pools)?;
    unique("workflow", spec.workflows.iter().map(|workflow| workflow.name.as_str()))?;
    unique("event", spec.events.iter().map(|event| event.name.as_str()))?;
    for (index, workflow) in spec.workflows.iter().enumerate() {
        self::workflow(&Place::entry("workflow", index, &workflow.name), workflow)?;
    }
    for (index, event) in spec.events.iter().enumerate() {
        self::event(&Place::entry("event", index, &event.name), event, &spec.events)?;
    }
    for (index, reservation) in spec.reservations.iter().enumerate() {
        self::reservation(&Place::entry("reservation", index, &reservation.pool), reservation)?;
    }
    Ok(())
}

fn refuse(place: Place, problem: impl Into<String>) -> Result<(), Refusal> {
    Err(Refusal { place, problem: problem.into() })
}

fn policy(policy: &Policy) -> Result<(), Refusal> {
    let place = Place::top("policy");
    let percent = |numerator| Quantity::ratio(numerator, 100).unwrap_or_default();
    if ![percent(50), percent(95), percent(99)].contains(&policy.percentile) {
        return refuse(
            place.key("percentile"),
            "must be 0.5, 0.95 or 0.99, the percentiles that profiles keep",
        );
    }
    for (key, share) in [
        ("review_utilization", &policy.review_utilization),
        ("interactive_utilization", &policy.interactive_utilization),
        ("idle_reservation", &policy.idle_reservation),
        ("concentration", &policy.concentration),
    ] {
        share_of_one(place.key(key), Some(share))?;
    }
    let target = &policy.throttle_target;
    for (key, share) in [
        ("tier0", &target.tier0),
        ("tier1", &target.tier1),
        ("tier2", &target.tier2),
        ("tier3", &target.tier3),
    ] {
        share_of_one(place.key("throttle_target").key(key), Some(share))?;
    }
    for (class, share) in &policy.classes {
        share_of_one(place.key("classes").key(class), Some(share))?;
    }
    if policy.classes.values().cloned().sum::<Quantity>() > Quantity::one() {
        return refuse(
            place.key("classes"),
            "are more than all calls together: give shares that sum to 1 at most",
        );
    }
    // A limit at need leaves a utilisation of 1/(1 + headroom): above the review line it would alarm
    // from the day it was granted.
    if &policy.review_utilization * &(&Quantity::one() + &policy.headroom) < Quantity::one() {
        let least = Quantity::one()
            .over(&policy.review_utilization)
            .map(|inverse| (inverse - Quantity::one()).to_f64());
        return refuse(
            place.key("headroom"),
            format!(
                "a limit with this headroom is used above review_utilization as soon as it is granted: raise headroom to {:.3} or more, or raise review_utilization",
                least.unwrap_or(f64::INFINITY),
            ),
        );
    }
    for (key, span) in
        [("history", policy.history), ("event_history", policy.event_history), ("horizon", policy.horizon)]
    {
        if span < Span::of_days(1) || span > Span::of_days(LONGEST_DAYS) {
            return refuse(place.key(key), format!("must be from 1d to {LONGEST_DAYS}d"));
        }
    }
    if TimeZoneDatabase::bundled().get(&policy.time_zone).is_err() {
        return refuse(
            place.key("time_zone"),
            format!("`{}` is not a time zone: write an IANA name such as America/New_York", policy.time_zone),
        );
    }
    Ok(())
}

fn pool(place: &Place, pool: &PoolSpec) -> Result<(), Refusal> {
    key(place.key("key"), &pool.key)?;
    let limits = place.key("limits");
    for (index, line) in pool.limits.iter().enumerate() {
        if let Some((dimension, _)) = line.values.iter().find(|(_, limit)| **limit == 0) {
            return refuse(
                limits.item(index).key(dimension),
                "is zero: give what the provider granted, or leave it out while that is not known",
            );
        }
    }
    if let Some(dimension) = LimitSpec::conflict(&pool.limits) {
        return refuse(
            limits,
            format!("gives {dimension} twice from the same day: keep one, or give each its scope"),
        );
    }
    match &pool.fallback {
        Some(fallback) => key(place.key("fallback").key("pool"), &fallback.pool),
        None => Ok(()),
    }
}

fn fallbacks(pools: &[PoolSpec]) -> Result<(), Refusal> {
    let Some((index, way)) = circle(pools) else { return Ok(()) };
    let place = Place::entry("pool", index, way.first().copied().unwrap_or_default());
    let problem = if way.len() == 2 {
        "is the pool itself: name another, or leave it out".to_owned()
    } else {
        format!("leads back to the pool ({}): what falls over must end somewhere", way.join(" -> "))
    };
    refuse(place.key("fallback").key("pool"), problem)
}

fn workflow(place: &Place, workflow: &WorkflowSpec) -> Result<(), Refusal> {
    if workflow.tier.is_some_and(|tier| tier > 3) {
        return refuse(place.key("tier"), "must be 0, 1, 2 or 3");
    }
    let slo = &workflow.slo;
    for (objective, share) in [
        ("success", &slo.success),
        ("timeout", &slo.timeout),
        ("degraded", &slo.degraded),
        ("stall", &slo.stall),
        ("truncation", &slo.truncation),
        ("tool_failure", &slo.tool_failure),
        ("fallback", &slo.fallback),
        ("throttled", &slo.throttled),
    ] {
        share_of_one(place.key("slo").key(objective), share.as_ref())?;
    }
    Ok(())
}

fn event(place: &Place, event: &EventSpec, events: &[EventSpec]) -> Result<(), Refusal> {
    if let Err(error) = Rule::parse(&event.when) {
        return refuse(place.key("when"), error.to_string());
    }
    let workflows = place.key("workflows");
    if event.workflows.is_empty() {
        return refuse(workflows, "names no workflow: say which it moves");
    }
    for (workflow, rate) in &event.workflows {
        let given = [&rate.in_flight, &rate.runs_per_min, &rate.multiplier];
        if given.iter().filter(|value| value.is_some()).count() > 1 {
            return refuse(
                workflows.key(workflow),
                "gives more than one rate: keep one of in_flight, runs_per_min and multiplier",
            );
        }
        if given.into_iter().flatten().any(Quantity::is_zero) {
            return refuse(
                workflows.key(workflow),
                "has a rate of zero: give more, or leave the workflow out",
            );
        }
    }
    for other in &event.over {
        let others = || events.iter().map(|event| event.name.as_str()).filter(|name| *name != event.name);
        if !others().any(|name| name == other) {
            let meant = meant(other, others());
            return refuse(place.key("over"), format!("`{other}` is no other event{meant}"));
        }
    }
    Ok(())
}

fn reservation(place: &Place, reservation: &ReservationSpec) -> Result<(), Refusal> {
    key(place.key("pool"), &reservation.pool)?;
    if reservation.units == 0 {
        return refuse(place.key("units"), "is zero: leave the reservation out");
    }
    if reservation.price_usd_month.is_some_and(|price| price.is_sign_negative()) {
        return refuse(place.key("price_usd_month"), "is negative: give what is paid");
    }
    if let (Some(cancel_by), Some(until)) = (reservation.cancel_by, reservation.until)
        && cancel_by > until
    {
        return refuse(place.key("cancel_by"), "is after the last day of the term: mend the dates");
    }
    Ok(())
}

fn key(place: Place, key: &str) -> Result<(), Refusal> {
    match key.parse::<PoolKey>() {
        Ok(_) => Ok(()),
        Err(error) => refuse(place, error.to_string()),
    }
}

fn share_of_one(place: Place, share: Option<&Quantity>) -> Result<(), Refusal> {
    match share {
        Some(share) if *share > Quantity::one() => {
            refuse(place, format!("is {share}: give a share of one, such as 0.75"))
        }
        _ => Ok(()),
    }
}

fn unique<'a>(what: &str, names: impl Iterator<Item = &'a str>) -> Result<(), Refusal> {
    let mut seen = BTreeSet::new();
    for (index, name) in names.enumerate() {
        let place = Place::entry(what, index, name).key("name");
        if name.trim().is_empty() {
            return refuse(place, "is empty: give it one");
        }
        if !seen.insert(name) {
            return refuse(place, "is given twice: keep one");
        }
    }
    Ok(())
}
