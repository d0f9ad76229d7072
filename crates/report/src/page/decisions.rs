//! The decisions that a plan asks for, in the order of their dates: requests, reservations, and what needs
//! no provider.
//!
//! What is cheaper comes first: a setting that mends a limit that is passed already stands at the top, one that
//! makes a request smaller right before that request.

use jiff::civil::Date;
use plimsoll_plan::{CheaperFix, DimensionPlan, Plan, PoolPlan, QuotaRequest, ReservationPlan};
use rust_decimal::Decimal;
use serde::Serialize;

use super::{key_figures::with_held, sign_off::Kind};
use crate::{
    figures::sample,
    format::{NONE, about, compact, day, percent, ratio, usd},
    local::Local,
    names, plain,
};

/// Most decisions on page one.
const MOST: usize = 12;

/// One line of the table of decisions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Decision {
    /// The day, or "any day".
    pub(crate) when: String,
    /// What day that is: "last safe day", "file by".
    pub(crate) note: String,
    /// Whether it has to be done now.
    pub(crate) urgent: bool,
    /// What to do.
    pub(crate) what: String,
    /// Where: the pool, or the workflow.
    pub(crate) place: String,
    /// Id of the section that tells all, where there is one.
    pub(crate) anchor: Option<String>,
    /// Now and then: "1M → 2.5M".
    pub(crate) change: String,
    /// Why.
    pub(crate) why: String,
    /// What stands behind the why.
    pub(crate) n: String,
    /// Who.
    pub(crate) owner: Option<String>,
    /// What is signed, which says who signs.
    #[serde(skip)]
    pub(crate) kind: Kind,
}

/// The decisions, and how many more there are.
pub(super) fn list(plan: &Plan, local: &Local) -> (Vec<Decision>, usize) {
    let today = local.day(plan.as_of);
    let mut dated: Vec<(Option<Date>, Decision)> = Vec::new();
    let (mut first, mut before, mut any) = (Vec::new(), Vec::new(), Vec::new());
    for fix in &plan.cheaper_first {
        let found = super::one::dimensions(plan)
            .find(|(pool, d)| pool.pool == fix.pool && d.dimension == fix.dimension)
            .filter(|(pool, _)| draws_then(pool, fix));
        let dimension = found.map(|(_, d)| d);
        let asked = plan.quota_requests.iter().find(|r| r.pool == fix.pool && r.dimension == fix.dimension);
        match (dimension, asked) {
            (Some(d), _) if d.fix_first => first.push((Some(today), of_fix(fix, dimension, "now"))),
            (Some(_), Some(r)) => before.push((Some(due(r)), of_fix(fix, dimension, "before filing"))),
            _ => any.push((None, of_fix(fix, dimension, "any day"))),
        }
    }
    dated.append(&mut first);
    dated.append(&mut before);
    for (i, request) in plan.quota_requests.iter().enumerate() {
        dated.push((Some(due(request)), of_request(plan, request, i + 1, local)));
    }
    for reservation in &plan.reservations {
        if !matches!(reservation.action.as_str(), "hold" | "unknown") {
            dated.push((reservation.until, of_reservation(plan, reservation)));
        }
    }
    dated.append(&mut any);
    // Stable: within a day the plan's own order stands, and what has no date comes last.
    dated.sort_by_key(|(due, _)| (due.is_none(), *due));
    let left = dated.len().saturating_sub(MOST);
    dated.truncate(MOST);
    (dated.into_iter().map(|(_, d)| d).collect(), left)
}

/// Whether what a fix frees is free at the instant that binds: its workflow draws there, or it names none.
fn draws_then(pool: &PoolPlan, fix: &CheaperFix) -> bool {
    let of = |workflow: &String| pool.contributors.iter().any(|c| c.workflow == *workflow);
    fix.workflow.as_ref().is_none_or(of)
}

/// The day by which a request is to be filed: in good time, or the last safe one where that has passed.
fn due(request: &QuotaRequest) -> Date {
    if request.decision == "planned" { request.file_by } else { request.last_safe }
}

fn of_request(plan: &Plan, request: &QuotaRequest, number: usize, local: &Local) -> Decision {
    let (when, note) = match request.decision.as_str() {
        "planned" => (day(request.file_by), format!("file by; last safe {}", day(request.last_safe))),
        "late" => ("late".to_owned(), format!("last safe was {}", day(request.last_safe))),
        _ if request.file_by < local.day(plan.as_of) => (
            day(request.last_safe),
            format!("last safe day; {} would have been in good time", day(request.file_by)),
        ),
        _ => (day(request.last_safe), format!("last safe day; file by {}", day(request.file_by))),
    };
    let found = super::one::dimensions(plan).find(|(pool, d)| {
        pool.pool == request.pool && pool.account == request.account && d.dimension == request.dimension
    });
    let from = request.from.map_or_else(|| NONE.to_owned(), |v| compact(v as f64));
    Decision {
        when,
        note,
        urgent: request.decision != "planned",
        what: format!("Raise {}", names::dimension(&request.dimension)),
        place: names::whereabouts(
            &request.pool,
            request.account.as_deref(),
            found.and_then(|(pool, _)| pool.region.as_deref()),
        ),
        anchor: Some(format!("request-{number}")),
        change: format!("{from} \u{2192} {}", compact(request.to as f64)),
        why: found.map_or_else(String::new, |(_, d)| reason(d, local)),
        n: found.map_or_else(String::new, |(_, d)| evidence(d)),
        owner: request.owner.clone(),
        kind: Kind::Quota,
    }
}

/// What the limit has to carry, when, and what is known of it.
fn reason(dimension: &DimensionPlan, local: &Local) -> String {
    let at = match (&dimension.event, dimension.event_start) {
        (Some(event), Some(start)) => {
            format!("{event}, {} {}", day(local.day(start)), local.clock(start))
        }
        (Some(event), None) => event.clone(),
        _ => "busiest hour of the week".to_owned(),
    };
    let use_of_limit =
        dimension.utilization_p95.map_or_else(String::new, |u| format!(", {} the limit", ratio(u)));
    let censored = if dimension.censored > 0.0 {
        format!(
            "; {} of the attempts in past ones were refused, so what they show is a lower bound",
            percent(dimension.censored)
        )
    } else {
        String::new()
    };
    format!("{at}: P95 {}{use_of_limit}{censored}", compact(dimension.p95_floor as f64))
}

fn evidence(dimension: &DimensionPlan) -> String {
    let runs = format!("n = {}", sample(dimension));
    match dimension.occurrences {
        _ if dimension.event.is_none() => runs,
        0 => format!("{runs}, no past occurrence"),
        1 => format!("{runs}, one past occurrence, no trend"),
        k => format!("{runs}, {k} past occurrences"),
    }
}

fn of_reservation(plan: &Plan, reservation: &ReservationPlan) -> Decision {
    let owner = plan.pools.iter().find(|p| p.pool == reservation.pool).and_then(|p| p.owner.clone());
    Decision {
        when: reservation.until.map_or_else(|| "any day".to_owned(), day),
        note: reservation.until.map_or_else(String::new, |_| "present term ends".to_owned()),
        urgent: false,
        what: names::action(&reservation.action),
        place: names::pool(&reservation.pool),
        anchor: None,
        change: format!("{} \u{2192} {} {}", reservation.held, reservation.recommended, reservation.unit),
        why: worth(reservation).unwrap_or_else(|| plain::sentence(reservation.reason.trim_end_matches('.'))),
        n: String::new(),
        owner,
        kind: Kind::of(reservation),
    }
}

/// What a reservation is worth, in the figures that decide; the planner's whole reason stands with the
/// reservation itself. `None` where its costs are not known.
fn worth(reservation: &ReservationPlan) -> Option<String> {
    let (now, then) = (with_held(reservation)?, reservation.total_usd.as_ref()?);
    let mut parts = Vec::new();
    if let Some(used) = reservation.utilization {
        let even =
            reservation.break_even.map_or_else(String::new, |e| format!(", break-even {}", percent(e)));
        parts.push(format!("{} of what is held is used{even}", percent(used)));
    }
    let all = reservation.on_demand_usd.as_ref();
    let all = all.map_or_else(String::new, |all| format!(", {} all on demand", usd(all)));
    parts.push(format!("overflow included, {} a month as held and {} after{all}", usd(now), usd(then)));
    let insured = reservation.insurance_usd.as_ref().filter(|usd| usd.parse() != Ok(Decimal::ZERO));
    if let (Some(insurance), Some(tier)) = (insured, reservation.insures) {
        parts.push(format!("{} of it a month insures tier {tier}", usd(insurance)));
    }
    Some(parts.join("; "))
}

fn of_fix(fix: &CheaperFix, dimension: Option<&DimensionPlan>, when: &str) -> Decision {
    let words = names::dimension(&fix.dimension);
    let place = match &fix.workflow {
        Some(workflow) => format!("{workflow} on {}", names::model(&fix.pool)),
        None => names::pool(&fix.pool),
    };
    let why = plain::sentence(fix.detail.trim_end_matches('.'));
    Decision {
        when: when.to_owned(),
        note: "no request needed".to_owned(),
        urgent: when == "now",
        what: names::fix(&fix.fix),
        place,
        anchor: None,
        change: format!("frees {}", compact(fix.frees as f64)),
        why: match dimension.and_then(|d| of_gap(fix, d)) {
            Some(gap) => format!("{why}; frees {gap} of the {words} that are missing"),
            None => format!("{why}; frees {} {words}", compact(fix.frees as f64)),
        },
        n: String::new(),
        owner: fix.owner.clone(),
        kind: Kind::Setting,
    }
}

/// How much of what a limit lacks a fix frees, the headroom on it included.
fn of_gap(fix: &CheaperFix, dimension: &DimensionPlan) -> Option<String> {
    let missing = dimension.need.checked_sub(dimension.limit?).filter(|gap| *gap > 0)?;
    let headroom = dimension.need as f64 / dimension.p95_floor.max(1) as f64;
    let frees = fix.frees as f64 * headroom.max(1.0) / missing as f64;
    Some(if frees >= 1.0 { "all".to_owned() } else { format!("about {}", about(frees)) })
}
