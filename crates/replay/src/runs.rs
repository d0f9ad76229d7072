//! Measured runs, as data: what each does, in which order, and what it draws.
//!
//! Leaves measuring to `profile` and metering to `catalog`: a draw arrives here as whole units of each
//! dimension of a pool. The invariant: a step comes after those that it waits for, so a run cannot
//! wait for itself; [`Runs::push`] refuses any other.
//!
//! Runs are kept flat, in a handful of arrays, since a replay visits them in no order.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::error::ReplayError;
use crate::time::Micros;

/// One whole run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Which of [`Runs::workflows`].
    pub workflow: u32,
    /// 0 matters most.
    pub tier: u8,
    /// Which of [`World::classes`](crate::World::classes).
    #[serde(default)]
    pub class: u16,
    /// When it started in the recording.
    pub arrival: Micros,
    /// What it does.
    pub steps: Vec<Step>,
}

/// One model or tool call of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Earlier steps of the run, by their place, that must have ended. Several steps after one are a
    /// fan-out, a step after several joins them; a step after none counts from the run's start.
    #[serde(default)]
    pub after: Vec<u32>,
    /// Time from then until the call is wanted: what the agent itself needs.
    #[serde(default)]
    pub think: Micros,
    /// Where the call can go: first where it does, then where it fails over to. At least one.
    pub routes: Vec<Route>,
}

/// A call as it would run on one pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// Which of [`World::pools`](crate::World::pools).
    pub pool: u32,
    /// One for each of [`Pool::dimensions`](crate::Pool::dimensions), in its order.
    #[serde(default)]
    pub draws: Vec<Draw>,
    /// From being let in to its end, without any wait for a limit.
    pub latency: Micros,
    /// From being let in to its first token, where it streams.
    #[serde(default)]
    pub ttft: Option<Micros>,
    /// What it costs when it ends, in billionths of a dollar.
    #[serde(default)]
    pub nano_usd: u64,
}

/// What a call draws from one dimension, in whole units of it. Where weights are fractions (a cached
/// token counts a tenth), the dimension and its quota are told in tenths.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Draw {
    /// Reserved when the call is let in.
    pub admission: u64,
    /// Drawn in the end.
    pub settlement: u64,
}

impl Draw {
    /// The same at both.
    #[must_use]
    pub const fn flat(amount: u64) -> Self {
        Self { admission: amount, settlement: amount }
    }
}

/// Many runs.
#[derive(Debug, Clone, Default)]
pub struct Runs {
    workflows: Vec<String>,
    runs: Vec<RunHead>,
    steps: Vec<StepHead>,
    routes: Vec<RouteHead>,
    draws: Vec<Draw>,
    /// Steps, by place in their run, that wait for another.
    followers: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct RunHead {
    pub(crate) workflow: u32,
    pub(crate) tier: u8,
    pub(crate) class: u16,
    pub(crate) arrival: Micros,
    pub(crate) first_step: u32,
    pub(crate) steps: u32,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct StepHead {
    pub(crate) think: Micros,
    pub(crate) waits_for: u32,
    first_follower: u32,
    followers: u32,
    pub(crate) first_route: u32,
    pub(crate) routes: u32,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct RouteHead {
    pub(crate) pool: u32,
    draws: u32,
    first_draw: u32,
    pub(crate) latency: Micros,
    /// [`Micros::MAX`] where there is none.
    pub(crate) ttft: Micros,
    pub(crate) nano_usd: u64,
}

impl Runs {
    /// No runs yet, of these workflows.
    #[must_use]
    pub fn new<Name: Into<String>>(workflows: impl IntoIterator<Item = Name>) -> Self {
        Self { workflows: workflows.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Adds a run.
    ///
    /// # Errors
    /// Where the run names a workflow that is not there, has no step, or a step waits for itself or a
    /// later one, or has no route. Nothing is added then.
    pub fn push(&mut self, run: &Run) -> Result<(), ReplayError> {
        let number = self.runs.len();
        if run.workflow as usize >= self.workflows.len() {
            return Err(ReplayError::Workflow { run: number, workflow: run.workflow });
        }
        if run.steps.is_empty() {
            return Err(ReplayError::NoSteps { run: number });
        }
        for (at, step) in run.steps.iter().enumerate() {
            if step.after.iter().any(|&before| before as usize >= at) {
                return Err(ReplayError::Order { run: number, step: at });
            }
            if step.routes.is_empty() {
                return Err(ReplayError::NoRoute { run: number, step: at });
            }
        }
        self.runs.push(RunHead {
            workflow: run.workflow,
            tier: run.tier,
            class: run.class,
            arrival: run.arrival,
            first_step: place(self.steps.len())?,
            steps: place(run.steps.len())?,
        });
        for (at, step) in run.steps.iter().enumerate() {
            let first_follower = place(self.followers.len())?;
            let at = place(at)?;
            let after = run.steps.iter().enumerate().filter(|(_, other)| other.after.contains(&at));
            for (follower, _) in after {
                self.followers.push(place(follower)?);
            }
            self.steps.push(StepHead {
                think: step.think,
                waits_for: distinct(&step.after),
                first_follower,
                followers: place(self.followers.len())? - first_follower,
                first_route: place(self.routes.len())?,
                routes: place(step.routes.len())?,
            });
            for route in &step.routes {
                self.routes.push(RouteHead {
                    pool: route.pool,
                    draws: place(route.draws.len())?,
                    first_draw: place(self.draws.len())?,
                    latency: route.latency,
                    ttft: route.ttft.unwrap_or(Micros::MAX),
                    nano_usd: route.nano_usd,
                });
                self.draws.extend(&route.draws);
            }
        }
        Ok(())
    }

    /// The names of the workflows.
    #[must_use]
    pub fn workflows(&self) -> &[String] {
        &self.workflows
    }

    /// How many runs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.runs.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// How many calls all runs make together, if none fails.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.steps.len()
    }

    pub(crate) fn heads(&self) -> &[RunHead] {
        &self.runs
    }

    pub(crate) fn step(&self, at: u32) -> &StepHead {
        &self.steps[at as usize]
    }

    pub(crate) fn route(&self, step: &StepHead, at: u8) -> &RouteHead {
        &self.routes[step.first_route as usize + usize::from(at)]
    }

    pub(crate) fn routes(&self) -> &[RouteHead] {
        &self.routes
    }

    pub(crate) fn draws(&self, route: &RouteHead) -> &[Draw] {
        let first = route.first_draw as usize;
        &self.draws[first..first + route.draws as usize]
    }

    pub(crate) fn followers(&self, step: &StepHead) -> Range<usize> {
        step.first_follower as usize..(step.first_follower + step.followers) as usize
    }

    pub(crate) fn follower(&self, at: usize) -> u32 {
        self.followers[at]
    }
}

fn distinct(after: &[u32]) -> u32 {
    let mut sorted = after.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    sorted.len() as u32
}

fn place(at: usize) -> Result<u32, ReplayError> {
    u32::try_from(at).map_err(|_| ReplayError::TooMany)
}
