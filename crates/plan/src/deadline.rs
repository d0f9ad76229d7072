//! By when a request must be filed: lead times, dates and the decision that follows from them.

use jiff::ToSpan;
use jiff::civil::Date;

use crate::LeadTimePlan;
use crate::context::{Context, PlanError, PoolId};
use crate::ledger::ENOUGH_OUTCOMES;

/// How long the provider takes, and who says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lead {
    /// As the plan tells it; none where nobody knows.
    pub(crate) plan: Option<LeadTimePlan>,
    /// For example `21 days, as the spec has it`.
    pub(crate) told: String,
}

/// The two dates of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Deadline {
    /// Start of the event less the longer of lead time and `file_ahead`.
    pub(crate) file_by: Date,
    /// Start of the event less the lead time's P90.
    pub(crate) last_safe: Date,
}

/// The lead time of a pool: the spec's, else the ledger's of five outcomes or more, else the catalog's,
/// which is in business days.
pub(crate) fn lead(context: &Context<'_>, pool: &PoolId) -> Lead {
    let plan =
        of_spec(context, pool).or_else(|| of_ledger(context, pool)).or_else(|| of_catalog(context, pool));
    let told = plan
        .as_ref()
        .map_or_else(|| "unknown, so file_ahead stands in for it".to_owned(), |plan| plan.detail.clone());
    Lead { plan, told }
}

fn of_spec(context: &Context<'_>, pool: &PoolId) -> Option<LeadTimePlan> {
    let days = context.pool_spec(pool)?.lead_time?.days();
    Some(LeadTimePlan {
        p50_days: None,
        p90_days: days,
        business_days: false,
        n: 0,
        source: "spec".to_owned(),
        detail: format!("{days} days, as the spec has it"),
    })
}

fn of_ledger(context: &Context<'_>, pool: &PoolId) -> Option<LeadTimePlan> {
    let learned = context.input.ledger.lead_times(&pool.pool)?;
    let (p50, p90, n) = (learned.p50_days, learned.p90_days, learned.n);
    Some(LeadTimePlan {
        p50_days: Some(p50),
        p90_days: p90,
        business_days: false,
        n: u64::try_from(n).unwrap_or(u64::MAX),
        source: "ledger".to_owned(),
        detail: format!("{p90} days, the P90 of {n} requests in the ledger (P50 {p50} days)"),
    })
}

fn of_catalog(context: &Context<'_>, pool: &PoolId) -> Option<LeadTimePlan> {
    let channel = context.entry(&pool.pool)?.channel.as_ref()?;
    let (p50, p90) = (channel.lead_time.p50_business_days, channel.lead_time.p90_business_days);
    let outcomes = context.input.ledger.outcome_days(&pool.pool).len();
    let few = match outcomes {
        0 => String::new(),
        n => format!("; the ledger has {n} of the {ENOUGH_OUTCOMES} outcomes that it takes to learn it"),
    };
    let detail =
        format!("{p90} business days, the P90 that the catalog gives for {} (P50 {p50}){few}", channel.name);
    Some(LeadTimePlan {
        p50_days: Some(p50),
        p90_days: p90,
        business_days: true,
        n: 0,
        source: "catalog".to_owned(),
        detail,
    })
}

impl Lead {
    /// Nobody says how long it takes.
    pub(crate) fn is_unknown(&self) -> bool {
        self.plan.is_none()
    }

    /// The dates for something that starts on a day.
    pub(crate) fn deadline(&self, context: &Context<'_>, start: Date) -> Result<Deadline, PlanError> {
        let ahead = start.checked_sub(i64::from(context.spec().policy.file_ahead.days()).days())?;
        let last_safe = match &self.plan {
            Some(plan) => plan.before(context, start, plan.p90_days)?,
            None => ahead,
        };
        Ok(Deadline { file_by: ahead.min(last_safe), last_safe })
    }
}

impl LeadTimePlan {
    /// The day that lies `days` of this lead time before another.
    pub(crate) fn before(&self, context: &Context<'_>, day: Date, days: u32) -> Result<Date, PlanError> {
        if !self.business_days {
            return Ok(day.checked_sub(i64::from(days).days())?);
        }
        let back = i32::try_from(days).map_or(i32::MIN, |days| -days);
        Ok(context.input.calendar.add_business_days(day, back)?)
    }

    /// The day that lies `days` of this lead time after another.
    pub(crate) fn after(&self, context: &Context<'_>, day: Date, days: u32) -> Result<Date, PlanError> {
        if !self.business_days {
            return Ok(day.checked_add(i64::from(days).days())?);
        }
        let days = i32::try_from(days).unwrap_or(i32::MAX);
        Ok(context.input.calendar.add_business_days(day, days)?)
    }
}

impl Deadline {
    /// `planned` before `file_by`, `file_now` up to `last_safe`, `late` after it.
    pub(crate) fn decision(&self, today: Date) -> &'static str {
        if today < self.file_by {
            "planned"
        } else if today <= self.last_safe {
            "file_now"
        } else {
            "late"
        }
    }
}
