//! What a spec must satisfy beyond being well-formed.
//!
//! Each refusal names the key and says what to do. The invariant: a check never changes a value.

use std::collections::BTreeSet;

use jiff::tz::TimeZoneDatabase;
use plimsoll_calendar::Rule;
use plimsoll_catalog::PoolKey;

use super::{EventSpec, LimitSpec, Policy, PoolSpec, ReservationSpec, Span, Spec, WorkflowSpec};
use crate::SpecError;
use crate::fault::invalid;
use crate::quantity::Quantity;

/// Longest history or horizon, days: ten years.
const LONGEST_DAYS: u32 = 3653;

/// The first thing wrong with a spec, if any.
pub(super) fn check(spec: &Spec) -> Result<(), SpecError> {
    policy(&spec.policy)?;
    for (index, pool) in spec.pools.iter().enumerate() {
        self::pool(pool)?;
        let same = |other: &PoolSpec| {
            (&other.key, &other.account, &other.region) == (&pool.key, &pool.account, &pool.region)
        };
        if spec.pools[..index].iter().any(same) {
            return refuse(
                format!("pool `{}`", pool.key),
                "is given twice: keep one, or tell them apart by account or region",
            );
        }
    }
    unique("workflow", spec.workflows.iter().map(|workflow| workflow.name.as_str()))?;
    unique("event", spec.events.iter().map(|event| event.name.as_str()))?;
    spec.workflows.iter().try_for_each(workflow)?;
    spec.events.iter().try_for_each(event)?;
    spec.reservations.iter().try_for_each(reservation)
}

fn refuse(key: impl Into<String>, problem: impl Into<String>) -> Result<(), SpecError> {
    Err(invalid("plan.toml", key, problem))
}

fn policy(policy: &Policy) -> Result<(), SpecError> {
    let percent = |numerator| Quantity::ratio(numerator, 100).unwrap_or_default();
    if ![percent(50), percent(95), percent(99)].contains(&policy.percentile) {
        return refuse("policy.percentile", "must be 0.5, 0.95 or 0.99, the percentiles that profiles keep");
    }
    for (key, share) in [
        ("review_utilization", &policy.review_utilization),
        ("interactive_utilization", &policy.interactive_utilization),
        ("idle_reservation", &policy.idle_reservation),
        ("concentration", &policy.concentration),
        ("throttle_target.tier0", &policy.throttle_target.tier0),
        ("throttle_target.tier1", &policy.throttle_target.tier1),
        ("throttle_target.tier2", &policy.throttle_target.tier2),
        ("throttle_target.tier3", &policy.throttle_target.tier3),
    ] {
        share_of_one(format!("policy.{key}"), Some(share))?;
    }
    // A limit at need leaves a utilisation of 1/(1 + headroom): above the review line it would alarm
    // from the day it was granted.
    if &policy.review_utilization * &(&Quantity::one() + &policy.headroom) < Quantity::one() {
        let least = Quantity::one()
            .over(&policy.review_utilization)
            .map(|inverse| (inverse - Quantity::one()).to_f64());
        return refuse(
            "policy.headroom",
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
            return refuse(format!("policy.{key}"), format!("must be from 1d to {LONGEST_DAYS}d"));
        }
    }
    if TimeZoneDatabase::bundled().get(&policy.time_zone).is_err() {
        return refuse(
            "policy.time_zone",
            format!("`{}` is not a time zone: write an IANA name such as America/New_York", policy.time_zone),
        );
    }
    Ok(())
}

fn pool(pool: &PoolSpec) -> Result<(), SpecError> {
    let name = format!("pool `{}`", pool.key);
    key(&name, &pool.key)?;
    if let Some(dimension) = LimitSpec::conflict(&pool.limits) {
        return refuse(
            format!("{name}.limits"),
            format!("gives {dimension} twice from the same day: keep one, or give each its scope"),
        );
    }
    match &pool.fallback {
        Some(fallback) => key(&format!("{name}.fallback"), &fallback.pool),
        None => Ok(()),
    }
}

fn workflow(workflow: &WorkflowSpec) -> Result<(), SpecError> {
    let name = format!("workflow `{}`", workflow.name);
    if workflow.tier.is_some_and(|tier| tier > 3) {
        return refuse(format!("{name}.tier"), "must be 0, 1, 2 or 3");
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
        share_of_one(format!("{name}.slo.{objective}"), share.as_ref())?;
    }
    Ok(())
}

fn event(event: &EventSpec) -> Result<(), SpecError> {
    let name = format!("event `{}`", event.name);
    if let Err(error) = Rule::parse(&event.when) {
        return refuse(format!("{name}.when"), error.to_string());
    }
    if event.workflows.is_empty() {
        return refuse(format!("{name}.workflows"), "names no workflow: say which it moves");
    }
    for (workflow, rate) in &event.workflows {
        let given = [&rate.in_flight, &rate.runs_per_min, &rate.multiplier];
        if given.iter().filter(|value| value.is_some()).count() > 1 {
            return refuse(
                format!("{name}.workflows.{workflow}"),
                "gives more than one rate: keep one of in_flight, runs_per_min and multiplier",
            );
        }
        if given.into_iter().flatten().any(Quantity::is_zero) {
            return refuse(
                format!("{name}.workflows.{workflow}"),
                "has a rate of zero: give more, or leave the workflow out",
            );
        }
    }
    Ok(())
}

fn reservation(reservation: &ReservationSpec) -> Result<(), SpecError> {
    let name = format!("reservation `{}`", reservation.pool);
    key(&name, &reservation.pool)?;
    if reservation.units == 0 {
        return refuse(format!("{name}.units"), "is zero: leave the reservation out");
    }
    if reservation.price_usd_month.is_some_and(|price| price.is_sign_negative()) {
        return refuse(format!("{name}.price_usd_month"), "is negative: give what is paid");
    }
    Ok(())
}

fn key(name: &str, key: &str) -> Result<(), SpecError> {
    match key.parse::<PoolKey>() {
        Ok(_) => Ok(()),
        Err(error) => refuse(name, error.to_string()),
    }
}

fn share_of_one(key: String, share: Option<&Quantity>) -> Result<(), SpecError> {
    match share {
        Some(share) if *share > Quantity::one() => {
            refuse(key, format!("is {share}: give a share of one, such as 0.75"))
        }
        _ => Ok(()),
    }
}

fn unique<'a>(what: &str, names: impl Iterator<Item = &'a str>) -> Result<(), SpecError> {
    let mut seen = BTreeSet::new();
    for name in names {
        if name.trim().is_empty() {
            return refuse(what, "has an empty name: give it one");
        }
        if !seen.insert(name) {
            return refuse(format!("{what} `{name}`"), "is given twice: keep one");
        }
    }
    Ok(())
}
