//! By when a request must be filed: lead times, dates and the decision that follows from them.

use jiff::ToSpan;
use jiff::civil::Date;

use crate::context::{Context, PlanError, PoolId};

/// How long the provider takes, and who says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lead {
    days: LeadDays,
    /// For example `21 days, as the spec has it`.
    pub(crate) told: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LeadDays {
    Calendar(u32),
    Business(u32),
    Unknown,
}

/// The two dates of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Deadline {
    /// Start of the event less the longer of lead time and `file_ahead`.
    pub(crate) file_by: Date,
    /// Start of the event less the lead time's P90.
    pub(crate) last_safe: Date,
}

/// The lead time of a pool: the spec's, else the ledger's P90 of five outcomes or more, else the
/// catalog's P90, which is in business days.
pub(crate) fn lead(context: &Context<'_>, pool: &PoolId) -> Lead {
    if let Some(span) = context.pool_spec(pool).and_then(|spec| spec.lead_time) {
        return Lead {
            days: LeadDays::Calendar(span.days()),
            told: format!("{} days, as the spec has it", span.days()),
        };
    }
    if let Some((days, n)) = context.input.ledger.lead_days(&pool.pool) {
        return Lead {
            days: LeadDays::Calendar(days),
            told: format!("{days} days, the P90 of {n} requests in the ledger"),
        };
    }
    match context.entry(&pool.pool).and_then(|entry| entry.channel.as_ref()) {
        Some(channel) => {
            let days = channel.lead_time.p90_business_days;
            let told = format!("{days} business days, the P90 that the catalog gives for {}", channel.name);
            Lead { days: LeadDays::Business(days), told }
        }
        None => Lead { days: LeadDays::Unknown, told: "unknown, so file_ahead stands in for it".to_owned() },
    }
}

impl Lead {
    /// Nobody says how long it takes.
    pub(crate) fn is_unknown(&self) -> bool {
        self.days == LeadDays::Unknown
    }

    /// The dates for something that starts on a day.
    pub(crate) fn deadline(&self, context: &Context<'_>, start: Date) -> Result<Deadline, PlanError> {
        let ahead = start.checked_sub(i64::from(context.spec().policy.file_ahead.days()).days())?;
        let last_safe = match self.days {
            LeadDays::Calendar(days) => start.checked_sub(i64::from(days).days())?,
            LeadDays::Business(days) => {
                let back = i32::try_from(days).map_or(i32::MIN, |days| -days);
                context.input.calendar.add_business_days(start, back)?
            }
            LeadDays::Unknown => ahead,
        };
        Ok(Deadline { file_by: ahead.min(last_safe), last_safe })
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
