//! What retention has taken from the tables, and so what can no longer be made anew.
//!
//! Spans expire by the day of their receipt, rows that jobs made by the day on which they start; each
//! table says since which day it is whole. When rows expire is `upkeep`'s business. Invariant: what rests
//! on expired rows stays as it was made while they were there, and what has expired is not made again.

use std::{
    any::Any,
    collections::{BTreeMap, BTreeSet},
};

use datafusion::{
    common::tree_node::TreeNodeRecursion, datasource::source_as_provider, error::DataFusionError,
    logical_expr::LogicalPlan,
};
use jiff::tz::TimeZone;
use plimsoll_lake::{RETAINED_FROM_APP, Snapshot};

use crate::{
    jobs::{Job, Replaces},
    lake_table::LakeTable,
    round::RECEIVED,
    windows::first_date_within,
};

/// How many days before its last a run may have started: so far back do jobs look for what acted on a day.
pub(crate) const LOOKBACK_DAYS: i32 = 3;

/// The first day that tables still hold, in days since 1970; those of which nothing has expired are not in
/// it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Horizon(BTreeMap<String, i32>);

impl Horizon {
    /// What the tables say.
    pub(crate) fn of<'a>(tables: impl IntoIterator<Item = (&'a str, &'a Snapshot)>) -> Self {
        let known = tables.into_iter();
        Self(known.filter_map(|(name, table)| Some((name.to_owned(), retained_from(table)?))).collect())
    }

    /// First day of receipt whose spans are there; none where no span has expired.
    pub(crate) fn spans(&self) -> Option<i32> {
        self.first_day("spans")
    }

    /// First day that a table still holds; none where it holds all.
    pub(crate) fn first_day(&self, table: &str) -> Option<i32> {
        self.0.get(table).copied()
    }

    /// First day on which a row may start that a job makes by this plan; none where it may on any.
    ///
    /// A row is made only where all that the job reads of it is there. What rests on spans is not looked at
    /// here: they do not expire by the day on which a run starts, so `touched` says which runs those are.
    ///
    /// # Errors
    /// A plan that cannot be walked through.
    pub(crate) fn floor(
        &self,
        job: &Job,
        plan: &LogicalPlan,
        zone: &TimeZone,
    ) -> Result<Option<i32>, DataFusionError> {
        let own = self.first_day(&job.makes);
        if self.0.is_empty() {
            return Ok(own);
        }
        let sources = sources(plan)?;
        let sources = sources.iter().filter(|name| **name != job.makes && !RECEIVED.contains(&name.as_str()));
        let whole = sources.filter_map(|name| self.0.get(name)).max().copied();
        let rests_on = match job.replaces {
            Replaces::TouchedDays => whole.map(|day| day + LOOKBACK_DAYS),
            Replaces::TouchedWindows => whole.map(|day| first_date_within(zone, day)),
            Replaces::TouchedRuns => whole,
            Replaces::ForTheRound | Replaces::View => None,
        };
        Ok(own.max(rests_on))
    }
}

/// First day that a table still holds; none where nothing of it has expired.
pub(crate) fn retained_from(table: &Snapshot) -> Option<i32> {
    i32::try_from(table.txn(RETAINED_FROM_APP)?).ok()
}

/// The lake's tables that a plan reads.
fn sources(plan: &LogicalPlan) -> Result<BTreeSet<String>, DataFusionError> {
    let mut names = BTreeSet::new();
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            let provider = source_as_provider(&scan.source)?;
            let provider: &dyn Any = provider.as_ref();
            names.extend(provider.downcast_ref::<LakeTable>().map(|table| table.name().to_owned()));
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(names)
}
