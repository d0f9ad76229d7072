//! What runs share: the clock, the pools, the prompt caches, the tools, and the spans on their way out.

use std::collections::BTreeMap;
use std::sync::Arc;

use opentelemetry_proto::tonic::trace::v1::Span;

use super::SECOND;
use super::calendar::Calendar;
use super::plan::Plan;
use super::pool::PoolState;
use super::tools::Busy;
use crate::file::Scenario;
use crate::telemetry::{Batch, Scope};

/// Everything but the runs.
#[derive(Debug)]
pub(super) struct World {
    /// The instant at which things happen.
    pub(super) now: u64,
    pub(super) calendar: Calendar,
    pub(super) busy: Busy,
    pub(super) out: Batch,
    plans: Vec<Arc<Plan>>,
    pools: Vec<PoolState>,
    /// Last use of the cached prefix of a workflow's tenant.
    prefixes: BTreeMap<(usize, usize), u64>,
}

impl World {
    pub(super) fn new(scenario: &Scenario, calendar: Calendar, scale: f64) -> Self {
        let plans =
            (0..scenario.workflows.len()).map(|index| Arc::new(Plan::new(index, scenario, &calendar)));
        Self {
            now: 0,
            busy: Busy::default(),
            out: Batch::new(scenario),
            plans: plans.collect(),
            pools: scenario.pools.iter().map(|pool| PoolState::new(pool, &calendar, scale)).collect(),
            prefixes: BTreeMap::new(),
            calendar,
        }
    }

    /// The plan of a workflow.
    pub(super) fn plan(&self, workflow: usize) -> Arc<Plan> {
        Arc::clone(&self.plans[workflow])
    }

    /// A pool, brought up to now.
    pub(super) fn pool(&mut self, index: usize) -> &mut PoolState {
        let pool = &mut self.pools[index];
        pool.advance(self.now);
        pool
    }

    /// Uses the cached prefix of a workflow's tenant: whether it was still there.
    pub(super) fn prefix_is_warm(&mut self, workflow: usize, tenant: usize, ttl_s: u64) -> bool {
        let used = self.prefixes.insert((workflow, tenant), self.now);
        used.is_some_and(|used| self.now - used <= ttl_s * SECOND)
    }

    /// Sends a span of a workflow's service on its way.
    pub(super) fn tell(&mut self, workflow: usize, scope: Scope, span: Span) {
        self.out.add(workflow, scope, span);
    }
}
