//! A workflow of the file with its names resolved and its days made instants.

use std::sync::Arc;

use jiff::civil::Time;

use super::calendar::Calendar;
use crate::file::{Scenario, Workflow};

/// What the simulation looks up for a workflow.
#[derive(Debug)]
pub(super) struct Plan {
    /// Place of the workflow in the file.
    pub(super) index: usize,
    pub(super) spec: Arc<Workflow>,
    /// Index of the pool of its generations.
    pub(super) pool: usize,
    /// Index of the pool that takes what the first refuses.
    pub(super) spill: Option<usize>,
    /// Index of the pool of its second opinions.
    pub(super) fallback: Option<usize>,
    /// Index of the pool of each step before the generations.
    pub(super) before: Vec<Option<usize>>,
    /// Mean input of the first generation, in tokens.
    pub(super) first_input: f64,
    /// Input tokens that its generations may have.
    pub(super) context_tokens: u64,
    /// Instant from which streams carry usage.
    pub(super) usage_from: u64,
    /// Instants from which each of its versions holds.
    versions: Vec<u64>,
}

impl Plan {
    /// The plan of the `index`-th workflow of a checked scenario.
    pub(super) fn new(index: usize, scenario: &Scenario, calendar: &Calendar) -> Self {
        let spec = Arc::clone(&scenario.workflows[index]);
        let named = |name: &String| scenario.pools.iter().position(|pool| &pool.name == name);
        let midnight = |date| calendar.instant(date, Time::midnight()).unwrap_or(0);
        // Parsing refused names without a pool.
        let pool = named(&spec.calls.pool).unwrap_or(0);
        Self {
            index,
            pool,
            spill: spec.calls.spill.as_ref().and_then(named),
            fallback: spec.troubles.fallback.as_ref().and_then(|fallback| named(&fallback.pool)),
            before: spec.before.iter().map(|step| step.pool.as_ref().and_then(named)).collect(),
            first_input: spec.calls.first_input(),
            context_tokens: scenario.pools[pool].context_tokens,
            usage_from: spec.troubles.usage_missing.map_or(0, |missing| midnight(missing.until)),
            versions: spec.versions.iter().map(|version| midnight(version.from)).collect(),
            spec,
        }
    }

    /// Index of the version that holds at an instant.
    pub(super) fn version(&self, at: u64) -> Option<usize> {
        self.versions.iter().rposition(|from| *from <= at)
    }
}
