//! What one plan is made from, and the names that the planner looks things up by.

use std::collections::BTreeSet;

use jiff::Timestamp;
use jiff::civil::Date;
use plimsoll_calendar::{Calendar, CalendarError};
use plimsoll_catalog::{Catalog, Entry, PoolKey};
use plimsoll_replay::Window;
use thiserror::Error;

use crate::enforced::{Enforced, enforced};
use crate::index::{Index, pool_spec};
use crate::quantity::Quantity;
use crate::spec::{PoolSpec, Spec};
use crate::unknown::refuse_unknown;
use crate::windows::{Windows, windows};
use crate::{
    DimensionPlan, Ledger, Measured, PoolMeasured, PoolPlan, SampledCall, SpecError, Stat, WorkflowMeasured,
};

/// Days of telemetry below which no figure is planned.
const FEWEST_DAYS: u32 = 3;

/// Everything that a plan is made from.
#[derive(Debug, Clone, Copy)]
pub struct PlanInput<'a> {
    /// What to plan for.
    pub spec: &'a Spec,
    /// Digest of the spec's text, as the plan names it.
    pub spec_sha256: &'a str,
    /// Requests made so far.
    pub ledger: &'a Ledger,
    /// Provider rules.
    pub catalog: &'a Catalog,
    /// The business calendar of the spec's time zone and holidays.
    pub calendar: &'a Calendar,
    /// What the lake measured in the windows that [`crate::windows`] named.
    pub measured: &'a Measured,
    /// Instant that the plan speaks for.
    pub as_of: Timestamp,
    /// Whether needs are taken from percentiles alone, without a replay: in seconds instead of a minute.
    pub quick: bool,
}

/// Why no plan could be made.
#[derive(Debug, Error)]
pub enum PlanError {
    /// Spec or ledger say what cannot be planned with, at that line.
    #[error(transparent)]
    Input(#[from] SpecError),
    /// The calendar cannot tell a date that the plan needs.
    #[error(transparent)]
    Calendar(#[from] CalendarError),
    /// A date beyond what can be reckoned with.
    #[error("a date of the plan is out of range ({0}): shorten policy.horizon")]
    Date(#[from] jiff::Error),
}

/// The input with what every step derives from it once.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    pub(crate) input: PlanInput<'a>,
    pub(crate) windows: Windows,
    /// The local day of `as_of`.
    pub(crate) today: Date,
    /// Pools that refused something, with what that tells of their limits.
    enforced: Vec<(PoolId, Enforced)>,
    pub(crate) index: Index<'a>,
}

/// A pool's identity: one provider limit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PoolId {
    pub(crate) pool: String,
    pub(crate) account: Option<String>,
    pub(crate) region: Option<String>,
}

impl PoolId {
    pub(crate) fn of(pool: &str, account: Option<&String>, region: Option<&String>) -> Self {
        Self { pool: pool.to_owned(), account: account.cloned(), region: region.cloned() }
    }

    /// The pool that was asked first for a call, where another one served it.
    pub(crate) fn asked(call: &SampledCall) -> Option<Self> {
        let pool = call.asked_pool.as_ref()?;
        Some(Self::of(pool, call.asked_account.as_ref(), call.asked_region.as_ref()))
    }

    /// The key's parts, where it is a key at all.
    pub(crate) fn key(&self) -> Option<PoolKey> {
        self.pool.parse().ok()
    }
}

impl<'a> Context<'a> {
    pub(crate) fn new(input: &PlanInput<'a>) -> Result<Self, PlanError> {
        let windows = windows(input.spec, input.calendar, input.as_of)?;
        let today = input.calendar.local_date(input.as_of);
        let index = Index::of(input, today);
        let mut context = Self { input: *input, windows, today, enforced: Vec::new(), index };
        refuse_unknown(&context)?;
        // Only replays ask how a limit is enforced.
        if !input.quick {
            context.enforced = enforced(&context);
        }
        Ok(context)
    }

    /// What the refusals of a pool tell of its limits; none where it refused nothing.
    pub(crate) fn enforced(&self, id: &PoolId) -> Option<&Enforced> {
        self.enforced.iter().find(|(pool, _)| pool == id).map(|(_, enforced)| enforced)
    }

    /// Time in which what the token bucket of a dimension holds flows in, where it is known to be less than the
    /// window.
    pub(crate) fn burst(&self, id: &PoolId, dimension: &str) -> Option<Window> {
        let (decides, burst) = self.enforced(id)?.burst.as_ref()?;
        (decides == dimension).then_some(*burst)
    }

    pub(crate) fn measured(&self) -> &'a Measured {
        self.input.measured
    }

    /// Why so little was measured that no figure is planned from it; `None` where enough was.
    pub(crate) fn too_thin(&self) -> Option<String> {
        let history = &self.measured().history;
        let covered = history.first_run.map(|first| self.input.as_of.duration_since(first).as_hours());
        let thin = history.days_with_runs < FEWEST_DAYS
            || covered.is_some_and(|hours| hours < i64::from(FEWEST_DAYS) * 24);
        (history.runs > 0 && thin).then(|| {
            format!(
                "{} runs on {} days were measured, and {FEWEST_DAYS} days are the least from which anything is planned: measure longer, or plan for another day",
                Quantity::from(history.runs),
                history.days_with_runs,
            )
        })
    }

    pub(crate) fn spec(&self) -> &'a Spec {
        self.input.spec
    }

    /// Every pool that the telemetry or the spec names, once; calls without a pool are left out.
    pub(crate) fn pools(&self) -> &BTreeSet<PoolId> {
        &self.index.pools
    }

    pub(crate) fn pool_spec(&self, id: &PoolId) -> Option<&'a PoolSpec> {
        self.index.pool_spec(id).unwrap_or_else(|| pool_spec(self.spec(), id))
    }

    pub(crate) fn pool_measured(&self, id: &PoolId) -> Option<&'a PoolMeasured> {
        self.index.measured(id)
    }

    /// What the busy minutes of the history drew of a limit, by its own stage; none of limits that are not of a
    /// minute.
    pub(crate) fn busy_minutes(&self, id: &PoolId, plan: &DimensionPlan) -> Option<&'a Stat> {
        let measure = format!("{}.{}", plan.basis, plan.dimension.strip_suffix("_per_min")?);
        self.pool_measured(id)?.per_minute.get(&measure)
    }

    /// The account of a pool: as telemetry tells, else as the spec has it.
    pub(crate) fn account(&self, id: &PoolId) -> Option<String> {
        id.account.clone().or_else(|| self.pool_spec(id)?.account.clone())
    }

    /// The region of a pool: as telemetry tells, else as the spec has it.
    pub(crate) fn region(&self, id: &PoolId) -> Option<String> {
        id.region.clone().or_else(|| self.pool_spec(id)?.region.clone())
    }

    /// Whether a row of a plan is of this pool: it tells the account and the region as they stand here.
    pub(crate) fn is_of(&self, row: &PoolPlan, id: &PoolId) -> bool {
        row.pool == id.pool && row.account == self.account(id) && row.region == self.region(id)
    }

    /// The catalog's row for a pool, as of today.
    pub(crate) fn entry(&self, pool: &str) -> Option<&'a Entry> {
        let searched = || self.input.catalog.find(&pool.parse().ok()?, self.today);
        self.index.entry(pool).unwrap_or_else(searched)
    }

    pub(crate) fn workflow(&self, name: &str) -> Option<&'a WorkflowMeasured> {
        self.index.workflow(name)
    }

    /// Tier: declared, else as the telemetry told.
    pub(crate) fn tier(&self, workflow: &str) -> Option<u8> {
        let declared = self.index.workflow_spec(workflow).and_then(|workflow| workflow.tier);
        declared.or_else(|| self.workflow(workflow)?.tier)
    }

    pub(crate) fn owner(&self, workflow: &str) -> Option<String> {
        self.index.workflow_spec(workflow)?.owner.clone()
    }

    /// The policy's percentile of a quantity over runs, exact.
    pub(crate) fn percentile(&self, stat: &Stat) -> Quantity {
        let wanted = &self.spec().policy.percentile;
        let value = match wanted.to_f64() {
            level if level < 0.9 => stat.p50,
            level if level > 0.97 => stat.p99,
            _ => stat.p95,
        };
        Quantity::of_percentile(value).unwrap_or_default()
    }

    /// `2026-11-30 09:00 America/New_York`.
    pub(crate) fn local(&self, at: Timestamp) -> String {
        let calendar = self.input.calendar;
        format!("{} {}", calendar.zone().to_datetime(at).strftime("%Y-%m-%d %H:%M"), calendar.zone_name())
    }

    /// `P95`, or as the policy has it.
    pub(crate) fn percentile_name(&self) -> String {
        let hundredths = &self.spec().policy.percentile * &Quantity::from(100);
        format!("P{hundredths}")
    }

    /// `1 + headroom`.
    pub(crate) fn with_headroom(&self) -> Quantity {
        &Quantity::one() + &self.spec().policy.headroom
    }
}

/// The mean of a quantity over runs, exact; `None` without values.
pub(crate) fn mean(stat: &Stat) -> Option<Quantity> {
    Quantity::ratio(stat.sum, stat.n)
}
