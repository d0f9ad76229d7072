//! What the planner looks up by name again and again, found once.
//!
//! A plan of hundreds of pools and workflows asks the same few things of the measurements a hundred
//! thousand times. Leaves what is made of them to whoever asks. The invariant: an index holds what a search
//! from the front of the lists would find, no more and no less.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;
use plimsoll_catalog::Entry;

use crate::context::{PlanInput, PoolId};
use crate::spec::{PoolSpec, Spec, WorkflowSpec};
use crate::{PoolMeasured, RunDraw, SampledRun, WorkflowMeasured};

/// Measurements and catalog rows by name.
#[derive(Debug, Default)]
pub(crate) struct Index<'a> {
    /// Every pool that the telemetry or the spec names.
    pub(crate) pools: BTreeSet<PoolId>,
    workflows: BTreeMap<&'a str, &'a WorkflowMeasured>,
    measured: BTreeMap<PoolId, &'a PoolMeasured>,
    drawing: BTreeMap<PoolId, Vec<&'a WorkflowMeasured>>,
    runs: BTreeMap<&'a str, Sampled<'a>>,
    entries: BTreeMap<String, Option<&'a Entry>>,
    specs: BTreeMap<PoolId, Option<&'a PoolSpec>>,
    workflow_specs: BTreeMap<&'a str, &'a WorkflowSpec>,
    spilling: BTreeSet<PoolId>,
}

/// Whole runs of one workflow.
#[derive(Debug, Default)]
struct Sampled<'a> {
    of_history: Vec<&'a SampledRun>,
    /// By event in whose past occurrences they ran.
    of_events: BTreeMap<&'a str, Vec<&'a SampledRun>>,
}

impl<'a> Index<'a> {
    pub(crate) fn of(input: &PlanInput<'a>, today: Date) -> Self {
        let measured = input.measured;
        let mut index = Self { spilling: spilling(&measured.sampled_runs), ..Self::default() };
        for pool in &measured.pools {
            let id = PoolId::of(&pool.pool, pool.account.as_ref(), pool.region.as_ref());
            index.measured.entry(id).or_insert(pool);
        }
        for workflow in &measured.workflows {
            index.workflows.entry(&workflow.workflow).or_insert(workflow);
            let id = |draw: &RunDraw| PoolId::of(&draw.pool, draw.account.as_ref(), draw.region.as_ref());
            let in_events = workflow.event_draws.values().flatten();
            let drawn: BTreeSet<PoolId> = workflow.draws.iter().chain(in_events).map(id).collect();
            for pool in drawn {
                index.drawing.entry(pool).or_default().push(workflow);
            }
        }
        for run in &measured.sampled_runs {
            let of = index.runs.entry(&run.workflow).or_default();
            let of = match &run.event {
                Some(event) => of.of_events.entry(event).or_default(),
                None => &mut of.of_history,
            };
            of.push(run);
        }
        index.pools = index.known_pools(input);
        for pool in &index.pools {
            let entry = pool.key().and_then(|key| input.catalog.find(&key, today));
            index.entries.insert(pool.pool.clone(), entry);
            index.specs.insert(pool.clone(), pool_spec(input.spec, pool));
        }
        for workflow in &input.spec.workflows {
            index.workflow_specs.entry(&workflow.name).or_insert(workflow);
        }
        index
    }

    /// Measured pools, those that runs drew on, and those of the spec that no telemetry shows.
    fn known_pools(&self, input: &PlanInput<'a>) -> BTreeSet<PoolId> {
        let seen = self.measured.keys().chain(self.drawing.keys());
        let mut ids: BTreeSet<PoolId> = seen.filter(|id| !id.pool.is_empty()).cloned().collect();
        let spec = input.spec;
        let of_spec = |id: &PoolId| pool_spec(spec, id).map(std::ptr::from_ref);
        let named: Vec<*const PoolSpec> = ids.iter().filter_map(of_spec).collect();
        let unseen = spec.pools.iter().filter(|pool| !named.contains(&std::ptr::from_ref(*pool)));
        ids.extend(unseen.map(|pool| PoolId::of(&pool.key, pool.account.as_ref(), pool.region.as_ref())));
        ids
    }

    /// The entry of the spec that a pool falls under; `None` for pools that are not in the plan.
    pub(crate) fn pool_spec(&self, id: &PoolId) -> Option<Option<&'a PoolSpec>> {
        self.specs.get(id).copied()
    }

    pub(crate) fn workflow_spec(&self, name: &str) -> Option<&'a WorkflowSpec> {
        self.workflow_specs.get(name).copied()
    }

    pub(crate) fn workflow(&self, name: &str) -> Option<&'a WorkflowMeasured> {
        self.workflows.get(name).copied()
    }

    pub(crate) fn measured(&self, id: &PoolId) -> Option<&'a PoolMeasured> {
        self.measured.get(id).copied()
    }

    /// Workflows of which any run drew on a pool, in the order in which they were measured.
    pub(crate) fn drawing(&self, id: &PoolId) -> &[&'a WorkflowMeasured] {
        self.drawing.get(id).map_or(&[], Vec::as_slice)
    }

    /// Whole runs of a workflow: inside an event's past occurrences, or without one of the history.
    pub(crate) fn runs(&self, workflow: &str, event: Option<&str>) -> &[&'a SampledRun] {
        let of = self.runs.get(workflow);
        let of = of.and_then(|of| match event {
            Some(event) => of.of_events.get(event),
            None => Some(&of.of_history),
        });
        of.map_or(&[], Vec::as_slice)
    }

    /// Whether calls were seen to go on to another pool where this one refused them.
    pub(crate) fn spills(&self, id: &PoolId) -> bool {
        self.spilling.contains(id)
    }

    /// A catalog row that was looked up already; `None` for pools that are not in the plan.
    pub(crate) fn entry(&self, pool: &str) -> Option<Option<&'a Entry>> {
        self.entries.get(pool).copied()
    }
}

/// The entry of a spec that a pool falls under.
pub(crate) fn pool_spec<'s>(spec: &'s Spec, id: &PoolId) -> Option<&'s PoolSpec> {
    spec.pool(&id.pool, id.account.as_deref(), id.region.as_deref())
}

/// Pools that were asked first for a call which another one served.
pub(crate) fn spilling(runs: &[SampledRun]) -> BTreeSet<PoolId> {
    runs.iter().flat_map(|run| &run.calls).filter_map(PoolId::asked).collect()
}
