//! On which day to file what: the anchor quota first, its companions with it, and never more at once than
//! the channel allows.
//!
//! Leaves what to ask for to `requests` and to the ledger's drafts. The invariants: on no day are more
//! requests open than the channel takes for one quota, one account and one region, counting those of the
//! ledger; a request that no slot lets through in time says so.

use jiff::ToSpan;
use jiff::civil::Date;
use plimsoll_catalog::{Entry, Quota};

use crate::context::{Context, PlanError};
use crate::pools::PoolWork;
use crate::quantity::Quantity;
use crate::{Filing, QuotaRequest};

/// Minutes of a day: a day's quota of tokens follows the minute's (requests' facts, section 1.1).
const MINUTES_A_DAY: u64 = 1_440;

/// A request to file: one of the plan's, or a draft of the ledger.
struct Wanted<'w> {
    pool: &'w PoolWork,
    dimension: &'w str,
    to: u64,
    file_by: Date,
    last_safe: Date,
    /// First day of the event that needs it; none for ordinary use.
    event_day: Option<Date>,
}

/// A request that is open over some days.
struct Open {
    channel: String,
    account: Option<String>,
    region: Option<String>,
    /// The provider's name of the quota, else pool and dimension.
    quota: String,
    from: Date,
    /// First day after its decision.
    to: Date,
}

/// The filing schedule of all requests and drafts, earliest first.
pub(crate) fn schedule(
    context: &Context<'_>,
    pools: &[PoolWork],
    requests: &[QuotaRequest],
) -> Result<Vec<Filing>, PlanError> {
    let mut desk = Desk { context, open: in_ledger(context, pools)? };
    let asked = requests.iter().filter_map(|request| of_request(pools, request));
    let mut wanted: Vec<Wanted<'_>> = asked.chain(drafts(context, pools)).collect();
    wanted.sort_by_key(|wanted| (wanted.file_by.max(context.today), wanted.last_safe));
    // Every anchor has its slot before any companion takes one.
    let mut anchors = Vec::new();
    for wanted in wanted {
        let anchor = desk.anchor(&wanted)?;
        anchors.push((wanted, anchor));
    }
    let mut steps = Vec::new();
    for (wanted, anchor) in anchors {
        let companions = desk.companions(&wanted, &anchor)?;
        steps.push(anchor);
        steps.extend(companions);
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

fn of_request<'w>(pools: &'w [PoolWork], request: &'w QuotaRequest) -> Option<Wanted<'w>> {
    let pool = pools.iter().find(|pool| {
        let plan = &pool.plan;
        plan.pool == request.pool && plan.account == request.account && plan.region == request.region
    })?;
    Some(Wanted {
        pool,
        dimension: &request.dimension,
        to: request.to,
        file_by: request.file_by,
        last_safe: request.last_safe,
        event_day: request.needed_from.filter(|_| request.event.is_some()),
    })
}

/// Drafts of the ledger that something still needs.
fn drafts<'w>(context: &'w Context<'_>, pools: &'w [PoolWork]) -> impl Iterator<Item = Wanted<'w>> {
    pools.iter().flat_map(move |pool| {
        let plan = &pool.plan;
        let known =
            context.input.ledger.undecided(&plan.pool, plan.account.as_deref(), plan.region.as_deref());
        known.filter(|draft| draft.filed.is_none()).filter_map(move |draft| {
            let row = plan.dimensions.iter().find(|row| row.dimension == draft.dimension)?;
            Some(Wanted {
                pool,
                dimension: &row.dimension,
                to: draft.asked,
                file_by: row.file_by?,
                last_safe: row.last_safe?,
                event_day: row.event_start.map(|start| context.input.calendar.local_date(start)),
            })
        })
    })
}

/// Where requests are filed, with what is open there.
struct Desk<'d> {
    context: &'d Context<'d>,
    open: Vec<Open>,
}

impl Desk<'_> {
    /// The step that asks for the quota itself.
    fn anchor(&mut self, wanted: &Wanted<'_>) -> Result<Filing, PlanError> {
        let plan = &wanted.pool.plan;
        let entry = self.context.entry(&plan.pool);
        let quota = entry.and_then(|entry| entry.dimension(wanted.dimension)?.quota.as_ref());
        let too_large = entry.is_some_and(|entry| entry.grants.max.is_some_and(|max| wanted.to > max));
        let in_words = too_large || quota.is_some_and(|quota| quota.adjustable == Some(false));
        let mut anchor = Filing {
            on: wanted.file_by.max(self.context.today),
            order: 0,
            kind: if in_words { "case_text" } else { "anchor" }.to_owned(),
            pool: plan.pool.clone(),
            account: plan.account.clone(),
            region: plan.region.clone(),
            dimension: Some(wanted.dimension.to_owned()),
            quota: quota.map(named),
            to: Some(wanted.to),
            escalate_on: None,
            second_chance: None,
            detail: in_words
                .then(|| "the channel does not take this figure: open a case and ask in its text".to_owned()),
        };
        self.place(wanted, &quota_of(self.context, &plan.pool, wanted.dimension), &mut anchor)?;
        Ok(anchor)
    }

    /// What has to rise with the anchor, in the catalog's order: by a request of its own where the provider
    /// takes one, else in the anchor's case. A quota that is asked for already is left out.
    fn companions(&mut self, wanted: &Wanted<'_>, anchor: &Filing) -> Result<Vec<Filing>, PlanError> {
        let mut steps = Vec::new();
        let Some(entry) = self.context.entry(&wanted.pool.plan.pool) else { return Ok(steps) };
        for (quota, to) in rising(entry, wanted) {
            let asked = |open: &Open| {
                open.quota == quota.name && open.account == anchor.account && open.region == anchor.region
            };
            if self.open.iter().any(asked) {
                continue;
            }
            let too_large = to.zip(entry.grants.max).is_some_and(|(to, max)| to > max);
            let own = quota.adjustable != Some(false) && quota.code.is_some() && !too_large;
            let detail = match (too_large, to) {
                (true, Some(to)) => Some(format!(
                    "{} is more than the channel takes: ask in the text of the anchor's case",
                    Quantity::from(to)
                )),
                _ if quota.adjustable == Some(false) => {
                    Some("not adjustable: ask in the text of the anchor's case".to_owned())
                }
                _ => None,
            };
            let mut step = Filing {
                kind: if own { "companion" } else { "case_text" }.to_owned(),
                dimension: None,
                quota: Some(named(quota)),
                to,
                detail,
                ..anchor.clone()
            };
            if own {
                self.place(wanted, &quota.name, &mut step)?;
            }
            steps.push(step);
        }
        Ok(steps)
    }

    /// Moves a step to the first day from its own on that has a slot, and gives it the dates that follow.
    fn place(&mut self, wanted: &Wanted<'_>, quota: &str, step: &mut Filing) -> Result<(), PlanError> {
        let lead = wanted.pool.plan.lead_time.as_ref();
        let channel = self.context.entry(&step.pool).and_then(|entry| entry.channel.as_ref());
        let mut request = Open {
            channel: channel.map_or_else(String::new, |channel| channel.name.clone()),
            account: step.account.clone(),
            region: step.region.clone(),
            quota: quota.to_owned(),
            from: step.on,
            to: decided(self.context, wanted.pool, step.on)?,
        };
        let most = |of: Option<u32>| of.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
        let limits = channel.map_or((1, usize::MAX, usize::MAX), |channel| {
            // Whoever asks twice for one quota while the first is open is sent away everywhere.
            let per_quota = channel.open_per_quota.or(Some(1));
            (most(per_quota), most(channel.open_per_account), most(channel.open_per_region))
        });
        while let Some(next) = self.in_the_way(&request, limits) {
            request.from = next;
            request.to = decided(self.context, wanted.pool, next)?;
        }
        if request.from > step.on {
            let late = if request.from > wanted.last_safe {
                format!(
                    ", which is after the last safe day ({}): ask the account team to take it in one case",
                    wanted.last_safe
                )
            } else {
                String::new()
            };
            step.on = request.from;
            step.detail = Some(format!("the requests that are open take every slot until then{late}"));
        }
        if let Some((lead, p50)) = lead.and_then(|lead| Some((lead, lead.p50_days?))) {
            step.escalate_on = Some(lead.after(self.context, step.on, p50)?);
            step.second_chance =
                wanted.event_day.map(|day| lead.before(self.context, day, p50)).transpose()?;
        }
        self.open.push(request);
        Ok(())
    }

    /// The next day to try, where a request would find no slot on one of its days; none where it fits.
    fn in_the_way(&self, request: &Open, limits: (usize, usize, usize)) -> Option<Date> {
        let (per_quota, per_account, per_region) = limits;
        let rivals: Vec<&Open> = self
            .open
            .iter()
            .filter(|open| open.channel == request.channel && open.account == request.account)
            .filter(|open| open.from < request.to && request.from < open.to)
            .collect();
        let days = rivals.iter().map(|open| open.from.max(request.from)).chain([request.from]);
        let full = |day: &Date| {
            let then = || rivals.iter().filter(|open| open.from <= *day && *day < open.to);
            let region = || then().filter(|open| open.region == request.region);
            then().count() >= per_account
                || region().count() >= per_region
                || region().filter(|open| open.quota == request.quota).count() >= per_quota
        };
        // Until one of those that are in the way is decided, nothing changes.
        let first = days.filter(full).min()?;
        rivals.iter().filter(|open| open.from <= first && first < open.to).map(|open| open.to).min()
    }
}

/// Quotas that rise with a dimension, with their value where it follows.
fn rising<'e>(entry: &'e Entry, wanted: &Wanted<'_>) -> Vec<(&'e Quota, Option<u64>)> {
    let mut found: Vec<_> = entry.companions.iter().map(|quota| (quota, None)).collect();
    let a_day = entry.dimension("tokens_per_day").and_then(|dimension| dimension.quota.as_ref());
    if let (Some(quota), "tokens_per_min") = (a_day, wanted.dimension) {
        found.push((quota, Some(wanted.to.saturating_mul(MINUTES_A_DAY))));
    }
    found
}

/// A quota as the provider calls it, with its code.
pub(crate) fn named(quota: &Quota) -> String {
    match &quota.code {
        Some(code) => format!("{} ({code})", quota.name),
        None => quota.name.clone(),
    }
}

/// What the provider calls a limit, else pool and dimension.
fn quota_of(context: &Context<'_>, pool: &str, dimension: &str) -> String {
    let quota = context.entry(pool).and_then(|entry| entry.dimension(dimension)?.quota.as_ref());
    quota.map_or_else(|| format!("{pool} {dimension}"), |quota| quota.name.clone())
}

/// First day on which a request that is filed on a day is no longer open, at the P90 of the lead time.
fn decided(context: &Context<'_>, pool: &PoolWork, filed: Date) -> Result<Date, PlanError> {
    let decided = match &pool.plan.lead_time {
        Some(lead) => lead.after(context, filed, lead.p90_days)?,
        None => filed.checked_add(i64::from(context.spec().policy.file_ahead.days()).days())?,
    };
    Ok(decided.max(filed.tomorrow()?))
}

/// What is open already, by the ledger.
fn in_ledger(context: &Context<'_>, pools: &[PoolWork]) -> Result<Vec<Open>, PlanError> {
    let mut open = Vec::new();
    for pool in pools {
        let plan = &pool.plan;
        let Some(channel) = context.entry(&plan.pool).and_then(|entry| entry.channel.as_ref()) else {
            continue;
        };
        let known =
            context.input.ledger.undecided(&plan.pool, plan.account.as_deref(), plan.region.as_deref());
        for (request, filed) in known.filter_map(|request| Some((request, request.filed?))) {
            open.push(Open {
                channel: channel.name.clone(),
                account: plan.account.clone(),
                region: plan.region.clone(),
                quota: quota_of(context, &plan.pool, &request.dimension),
                from: filed,
                // One that is overdue is still open today, and is decided tomorrow at the earliest.
                to: decided(context, pool, filed)?.max(context.today.tomorrow()?),
            });
        }
    }
    Ok(open)
}
