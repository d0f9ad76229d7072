//! On which day to file what: the anchor quota first, its companions with it, and never more at once than
//! the channel allows.
//!
//! Leaves what to ask for to `requests`. The invariants: at no day are more requests open than the channel
//! takes for one quota, one account and one region, counting those of the ledger; a request that no slot
//! lets through in time says so.

use jiff::ToSpan;
use jiff::civil::Date;
use plimsoll_catalog::{Entry, Quota};

use crate::context::{Context, PlanError};
use crate::pools::PoolWork;
use crate::quantity::Quantity;
use crate::{Filing, QuotaRequest};

/// Minutes of a day: a day's quota of tokens follows the minute's (requests' facts, section 1.1).
const MINUTES_A_DAY: u64 = 1_440;

/// A request that is open over some days.
struct Open {
    channel: String,
    account: Option<String>,
    region: Option<String>,
    /// Pool and dimension, or the quota's name.
    quota: String,
    from: Date,
    /// First day after its decision.
    to: Date,
}

/// The filing schedule of all requests, earliest first.
pub(crate) fn schedule(
    context: &Context<'_>,
    pools: &[PoolWork],
    requests: &[QuotaRequest],
) -> Result<Vec<Filing>, PlanError> {
    let mut open = in_ledger(context, pools)?;
    let mut wanted: Vec<&QuotaRequest> = requests.iter().collect();
    wanted.sort_by_key(|request| (request.file_by.max(context.today), request.last_safe));
    let pool_of = |request: &QuotaRequest| {
        pools.iter().find(|pool| {
            pool.id.pool == request.pool
                && pool.plan.account == request.account
                && pool.plan.region == request.region
        })
    };
    let wanted: Vec<(&QuotaRequest, &PoolWork)> =
        wanted.into_iter().filter_map(|request| Some((request, pool_of(request)?))).collect();
    // Every anchor has its slot before any companion takes one.
    let mut anchors = Vec::new();
    for (request, pool) in wanted {
        anchors.push((request, pool, anchor(context, pool, request, &mut open)?));
    }
    let mut steps = Vec::new();
    for (request, pool, anchor) in anchors {
        steps.push(anchor.clone());
        with_it(context, pool, request, &anchor, &mut open, &mut steps)?;
    }
    steps.sort_by_key(|step: &Filing| step.on);
    let mut last = None;
    let mut order = 0;
    for step in &mut steps {
        order = if last == Some(step.on) { order + 1 } else { 1 };
        (last, step.order) = (Some(step.on), order);
    }
    Ok(steps)
}

/// The step that asks for the quota itself.
fn anchor(
    context: &Context<'_>,
    pool: &PoolWork,
    request: &QuotaRequest,
    open: &mut Vec<Open>,
) -> Result<Filing, PlanError> {
    let entry = context.entry(&request.pool);
    let quota = entry.and_then(|entry| entry.dimension(&request.dimension)?.quota.as_ref());
    let in_words = entry.is_some_and(|entry| entry.grants.max.is_some_and(|max| request.to > max))
        || quota.is_some_and(|quota| quota.adjustable == Some(false));
    let in_words =
        in_words.then(|| "the channel does not take this figure: open a case and ask in its text".to_owned());
    let mut anchor = Filing {
        on: request.file_by.max(context.today),
        order: 0,
        kind: if in_words.is_some() { "case_text" } else { "anchor" }.to_owned(),
        pool: request.pool.clone(),
        account: request.account.clone(),
        region: request.region.clone(),
        dimension: Some(request.dimension.clone()),
        quota: quota.map(named),
        to: Some(request.to),
        escalate_on: None,
        second_chance: None,
        detail: in_words,
    };
    let quota = format!("{} {}", request.pool, request.dimension);
    place(context, pool, request, &quota, &mut anchor, open)?;
    Ok(anchor)
}

/// The steps that go with an anchor.
fn with_it(
    context: &Context<'_>,
    pool: &PoolWork,
    request: &QuotaRequest,
    anchor: &Filing,
    open: &mut Vec<Open>,
    steps: &mut Vec<Filing>,
) -> Result<(), PlanError> {
    for (kind, quota, to, detail) in companions(context.entry(&request.pool), request) {
        let mut step = Filing {
            kind: kind.to_owned(),
            dimension: None,
            quota: Some(named(quota)),
            to,
            detail,
            ..anchor.clone()
        };
        if kind == "companion" {
            place(context, pool, request, &quota.name, &mut step, open)?;
        }
        steps.push(step);
    }
    Ok(())
}

/// The first day on which a slot is free, from `step.on` on, and the dates that follow from it.
fn place(
    context: &Context<'_>,
    pool: &PoolWork,
    request: &QuotaRequest,
    quota: &str,
    step: &mut Filing,
    open: &mut Vec<Open>,
) -> Result<(), PlanError> {
    let channel = context.entry(&request.pool).and_then(|entry| entry.channel.as_ref());
    let lead = pool.plan.lead_time.as_ref();
    let name = channel.map_or("", |channel| channel.name.as_str());
    let mine = |other: &&Open| other.channel == name && other.account == step.account;
    let most = |of: Option<u32>| of.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
    let (per_quota, per_account, per_region) = channel.map_or((1, usize::MAX, usize::MAX), |channel| {
        // Whoever asks twice for one quota while the first is open is sent away everywhere.
        (
            most(channel.open_per_quota.or(Some(1))),
            most(channel.open_per_account),
            most(channel.open_per_region),
        )
    });
    let first = step.on;
    loop {
        let on = step.on;
        let then: Vec<&Open> =
            open.iter().filter(mine).filter(|other| other.from <= on && on < other.to).collect();
        let same_quota =
            then.iter().filter(|other| other.quota == quota && other.region == step.region).count();
        let same_region = then.iter().filter(|other| other.region == step.region).count();
        if same_quota < per_quota && then.len() < per_account && same_region < per_region {
            break;
        }
        // The next slot is free when the first of those that are open is decided.
        match then.iter().map(|other| other.to).min() {
            Some(next) => step.on = next,
            None => break,
        }
    }
    let moved = step.on > first;
    if moved {
        let late = if step.on > request.last_safe {
            format!(
                ", which is after the last safe day ({}): ask the account team to take it in one case",
                request.last_safe
            )
        } else {
            String::new()
        };
        step.detail =
            Some(format!("not before {}: the requests that are open take every slot{late}", step.on));
    }
    let decided = match lead {
        Some(lead) => lead.after(context, step.on, lead.p90_days)?,
        None => step.on.checked_add(i64::from(context.spec().policy.file_ahead.days()).days())?,
    };
    if let Some((lead, p50)) = lead.and_then(|lead| Some((lead, lead.p50_days?))) {
        step.escalate_on = Some(lead.after(context, step.on, p50)?);
        let needed = request.needed_from.filter(|_| request.event.is_some());
        step.second_chance = needed.map(|needed| lead.before(context, needed, p50)).transpose()?;
    }
    open.push(Open {
        channel: name.to_owned(),
        account: step.account.clone(),
        region: step.region.clone(),
        quota: quota.to_owned(),
        from: step.on,
        to: decided.max(step.on.tomorrow()?),
    });
    Ok(())
}

/// What has to rise with the anchor, in the catalog's order: by a request of its own where the provider
/// takes one, else in the anchor's case.
fn companions<'e>(
    entry: Option<&'e Entry>,
    request: &QuotaRequest,
) -> Vec<(&'static str, &'e Quota, Option<u64>, Option<String>)> {
    let Some(entry) = entry else { return Vec::new() };
    let kind = |quota: &Quota| match (quota.adjustable, &quota.code) {
        (Some(false), _) | (_, None) => "case_text",
        _ => "companion",
    };
    let mut found: Vec<_> = entry
        .companions
        .iter()
        .map(|quota| {
            let fixed = quota.adjustable == Some(false);
            let detail = fixed.then(|| "not adjustable: ask in the text of the anchor's case".to_owned());
            (kind(quota), quota, None, detail)
        })
        .collect();
    let a_day = || entry.dimension("tokens_per_day")?.quota.as_ref();
    if request.dimension == "tokens_per_min"
        && let Some(quota) = a_day()
    {
        let to = request.to.saturating_mul(MINUTES_A_DAY);
        let fits = entry.grants.max.is_none_or(|max| to <= max);
        let kind = if fits { kind(quota) } else { "case_text" };
        let detail = (!fits).then(|| {
            format!(
                "{} a day is more than the channel takes: ask in the text of the anchor's case",
                Quantity::from(to)
            )
        });
        found.push((kind, quota, Some(to), detail));
    }
    found
}

/// A quota as the provider calls it, with its code.
fn named(quota: &Quota) -> String {
    match &quota.code {
        Some(code) => format!("{} ({code})", quota.name),
        None => quota.name.clone(),
    }
}

/// What is open already, by the ledger.
fn in_ledger(context: &Context<'_>, pools: &[PoolWork]) -> Result<Vec<Open>, PlanError> {
    let mut open = Vec::new();
    for request in context.input.ledger.requests.iter().filter(|request| request.decided.is_none()) {
        let (Some(filed), Some(channel)) =
            (request.filed, context.entry(&request.pool).and_then(|entry| entry.channel.as_ref()))
        else {
            continue;
        };
        let pool = pools.iter().find(|pool| pool.id.pool == request.pool);
        let decided = match pool.and_then(|pool| pool.plan.lead_time.as_ref()) {
            Some(lead) => lead.after(context, filed, lead.p90_days)?,
            None => filed.checked_add(i64::from(context.spec().policy.file_ahead.days()).days())?,
        };
        open.push(Open {
            channel: channel.name.clone(),
            account: request.account.clone().or_else(|| pool?.plan.account.clone()),
            region: request.region.clone().or_else(|| pool?.plan.region.clone()),
            quota: format!("{} {}", request.pool, request.dimension),
            from: filed,
            // One that is overdue is still open today, and is decided tomorrow at the earliest.
            to: decided.max(context.today.tomorrow()?),
        });
    }
    Ok(open)
}
