//! What must be done within some days of a plan's day: the answer of `plan --check`.
//!
//! The invariant: each line names its day and what to do; nothing is due that nobody can act on.

use jiff::ToSpan;
use jiff::civil::Date;
use serde::Serialize;

use crate::context::{Context, PlanError, PlanInput};
use crate::quantity::Quantity;
use crate::spec::{PoolSpec, Span};
use crate::{Plan, QuotaRequest};

/// Something to do by a day.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Due {
    /// Day by which to do it; in the past where it is late.
    pub by: Date,
    /// file, late, draft, escalate, reservation, cancel, change_reservation, buy, stale_catalog, retest.
    pub kind: String,
    /// Pool that it is about.
    pub pool: String,
    /// Dimension, where it is about one.
    pub dimension: Option<String>,
    /// What to do, as one sentence.
    pub what: String,
    /// Who does it.
    pub owner: Option<String>,
}

/// What cannot wait: a limit will not hold, or money is spent on nothing.
const NOW: [&str; 4] = ["file", "late", "draft", "change_reservation"];

/// What is due by the plan's day and `within` days after it, earliest first; without `within`, only what
/// must be filed or changed on that day. `plan` is what [`crate::make`] made of `input`.
///
/// # Errors
/// As [`crate::make`].
pub fn due(input: &PlanInput<'_>, plan: &Plan, within: Option<Span>) -> Result<Vec<Due>, PlanError> {
    let context = Context::new(input)?;
    let today = context.today;
    let last = today.checked_add(i64::from(within.map_or(0, Span::days)).days())?;
    let mut found = Vec::new();
    found.extend(plan.quota_requests.iter().map(|request| filing(request, today)));
    ledger(&context, plan, &mut found)?;
    reservations(&context, plan, &mut found);
    for pool in &plan.pools {
        catalog(&context, &pool.pool, pool.owner.as_deref(), &mut found);
    }
    for pool in &context.spec().pools {
        fallback(&context, pool, &mut found)?;
    }
    found.retain(|due| due.by <= last && (within.is_some() || NOW.contains(&due.kind.as_str())));
    found.sort();
    found.dedup();
    Ok(found)
}

fn filing(request: &QuotaRequest, today: Date) -> Due {
    let late = request.decision == "late";
    let to = Quantity::from(request.to);
    let why = request.event.as_deref().unwrap_or("ordinary use");
    Due {
        by: request.file_by,
        kind: if late { "late" } else { "file" }.to_owned(),
        pool: request.pool.clone(),
        dimension: Some(request.dimension.clone()),
        what: match (late, request.last_safe < today) {
            (true, true) => format!(
                "file for {to} today and bridge the gap: {} was the last safe day for {why}",
                request.last_safe
            ),
            (true, false) => format!("file for {to} today: {why} is above the limit already"),
            _ => format!("file for {to}, which {why} needs; last safe day {}", request.last_safe),
        },
        owner: request.owner.clone(),
    }
}

/// Drafts that still have to be filed, and filed requests to ask after.
fn ledger(context: &Context<'_>, plan: &Plan, found: &mut Vec<Due>) -> Result<(), PlanError> {
    for request in context.input.ledger.requests.iter().filter(|request| request.decided.is_none()) {
        let pool = plan
            .pools
            .iter()
            .find(|pool| request.is_of(&pool.pool, pool.account.as_deref(), pool.region.as_deref()));
        let row = pool.and_then(|pool| pool.dimensions.iter().find(|row| row.dimension == request.dimension));
        let asked = Quantity::from(request.asked);
        let (by, kind, what) = match request.filed {
            None => {
                // A draft that nothing needs any more is not due.
                let Some(by) = row.and_then(|row| row.file_by) else { continue };
                let what = format!("file the draft for {asked} (ledger.toml, line {})", request.line);
                (by, "draft", what)
            }
            Some(filed) => {
                let Some(lead) = pool.and_then(|pool| pool.lead_time.as_ref()) else { continue };
                let Some(days) = lead.p50_days else { continue };
                let by = lead.after(context, filed, days)?;
                let case = request.case.as_ref().map_or_else(String::new, |case| format!(" (case {case})"));
                let what = format!(
                    "ask what became of the request for {asked}, open since {filed}{case}: half are decided by now"
                );
                (by, "escalate", what)
            }
        };
        found.push(Due {
            by,
            kind: kind.to_owned(),
            pool: request.pool.clone(),
            dimension: Some(request.dimension.clone()),
            what,
            owner: pool.and_then(|pool| pool.owner.clone()),
        });
    }
    Ok(())
}

/// Terms that end, renewals that can still be cancelled, and counts that should change.
fn reservations(context: &Context<'_>, plan: &Plan, found: &mut Vec<Due>) {
    let mut push = |by: Date, kind: &str, pool: &str, what: String| {
        let owner = context.spec().pools.iter().find(|spec| spec.key == pool);
        found.push(Due {
            by,
            kind: kind.to_owned(),
            pool: pool.to_owned(),
            dimension: None,
            what,
            owner: owner.and_then(|spec| spec.owner.clone()),
        });
    };
    for held in &context.spec().reservations {
        let units = Quantity::from(held.units);
        if let Some(cancel_by) = held.cancel_by.filter(|day| *day >= context.today) {
            let what = format!("last day to cancel the renewal of {units} units ({})", held.term);
            push(cancel_by, "cancel", &held.pool, what);
        }
        if let Some(until) = held.until {
            let what = if until < context.today {
                format!(
                    "the term of {units} units ({}) has ended: renew it, or take it out of the spec",
                    held.term
                )
            } else {
                format!("the term of {units} units ({}) ends: renew, change or let it lapse", held.term)
            };
            push(until, "reservation", &held.pool, what);
        }
    }
    for row in plan.reservations.iter().filter(|row| !matches!(row.action.as_str(), "hold" | "unknown")) {
        let what = format!(
            "{}: {} -> {} {}",
            row.action.replace('_', " "),
            Quantity::from(row.held),
            Quantity::from(row.recommended),
            row.unit
        );
        // What is not held costs nothing meanwhile: to buy it is an offer.
        push(context.today, if row.held > 0 { "change_reservation" } else { "buy" }, &row.pool, what);
    }
}

/// Rows whose sources are, or will be, too old to be trusted.
fn catalog(context: &Context<'_>, pool: &str, owner: Option<&str>, found: &mut Vec<Due>) {
    let Some(entry) = context.entry(pool) else { return };
    // The first source to go stale is the one to read again first.
    let Some(source) = entry.sources.iter().min_by_key(|source| source.read_on) else { return };
    found.push(Due {
        by: source.stale_from(),
        kind: "stale_catalog".to_owned(),
        pool: pool.to_owned(),
        dimension: None,
        what: format!(
            "read {} again and date the catalog's row: it was read on {}, and 180 days make it stale",
            source.title, source.read_on
        ),
        owner: owner.map(str::to_owned),
    });
}

/// What was done to be sure of a fallback, once it is as old as the policy allows.
fn fallback(context: &Context<'_>, pool: &PoolSpec, found: &mut Vec<Due>) -> Result<(), PlanError> {
    let Some(fallback) = &pool.fallback else { return Ok(()) };
    let age = context.spec().policy.fallback_retest;
    for (done, what) in [
        (fallback.quota_confirmed, "confirm the quota of"),
        (fallback.credentials_tested, "test the credentials for"),
        (fallback.evaluation, "evaluate the answers of"),
    ] {
        // What was never done is a risk of the plan, not a date.
        let Some(day) = done else { continue };
        found.push(Due {
            by: day.checked_add(i64::from(age.days()).days())?,
            kind: "retest".to_owned(),
            pool: pool.key.clone(),
            dimension: None,
            what: format!("{what} its fallback {} again: last done on {day}", fallback.pool),
            owner: pool.owner.clone(),
        });
    }
    Ok(())
}
