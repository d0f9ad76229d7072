//! Measured runs, as data: what each does, in which order, and what it draws.
//!
//! Leaves measuring to `profile` and metering to `catalog`: a draw arrives here as whole units of each
//! dimension of a pool. The invariant: a step comes after those that it waits for, so a run cannot
//! wait for itself; [`Runs::push`] refuses any other.
//!
//! Runs are kept flat, a step with its routes and draws side by side, since a replay visits them in no
//! order and waits for memory more than for arithmetic.

mod record;

use serde::{Deserialize, Serialize};

pub(crate) use record::{Follower, RouteRecord, StepRecord};

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
    /// Run by run: where the steps begin that wait for none, for how many each join waits, the steps'
    /// records.
    words: Vec<u64>,
    steps: usize,
}

/// Where a run's steps lie, and what all of them share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunHead {
    pub(crate) workflow: u32,
    pub(crate) tier: u8,
    pub(crate) class: u16,
    pub(crate) arrival: Micros,
    pub(crate) steps: u32,
    /// Where its words begin, and where in them its joins and its records do.
    roots: u32,
    joins: u32,
    records: u32,
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
        let before: Vec<Vec<u32>> = run.steps.iter().map(|step| distinct(&step.after)).collect();
        let mut followers = vec![0; run.steps.len()];
        before.iter().flatten().for_each(|&before| followers[before as usize] += 1);
        let roots = place(self.words.len())?;
        let joins = roots + place(before.iter().filter(|before| before.is_empty()).count())?;
        let records = joins + place(before.iter().filter(|before| before.len() > 1).count())?;
        let (mut join, mut at) = (0.., records as usize);
        let mut steps = Vec::with_capacity(run.steps.len());
        for ((step, before), &followers) in run.steps.iter().zip(&before).zip(&followers) {
            let join = if before.len() > 1 { join.next() } else { None };
            steps.push(Follower { join, step: at as u32 });
            at += record::length(step, followers);
        }
        place(at)?;
        let of = || steps.iter().zip(&before);
        self.words.extend(of().filter(|(_, before)| before.is_empty()).map(|(root, _)| u64::from(root.step)));
        self.words.extend(before.iter().map(Vec::len).filter(|&waits| waits > 1).map(|waits| waits as u64));
        for (number, step) in (0..).zip(&run.steps) {
            let followers: Vec<_> =
                of().filter(|(_, before)| before.contains(&number)).map(|(&follower, _)| follower).collect();
            record::write(&mut self.words, step, &followers);
        }
        self.runs.push(RunHead {
            workflow: run.workflow,
            tier: run.tier,
            class: run.class,
            arrival: run.arrival,
            steps: place(run.steps.len())?,
            roots,
            joins,
            records,
        });
        self.steps += run.steps.len();
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
        self.steps
    }

    pub(crate) fn heads(&self) -> &[RunHead] {
        &self.runs
    }

    /// The step whose record begins at a place.
    #[inline]
    pub(crate) fn step(&self, at: u32) -> StepRecord<'_> {
        StepRecord::at(&self.words, at)
    }

    /// The steps of a run, in order.
    pub(crate) fn steps(&self, head: &RunHead) -> impl Iterator<Item = StepRecord<'_>> {
        let mut at = head.records;
        (0..head.steps).map(move |_| {
            let step = self.step(at);
            at += step.length();
            step
        })
    }

    /// The route whose record begins at a place.
    #[inline]
    pub(crate) fn route(&self, at: u32) -> RouteRecord<'_> {
        RouteRecord::at(&self.words, at)
    }

    /// Where the records of the steps begin that wait for none.
    pub(crate) fn roots(&self, head: &RunHead) -> impl Iterator<Item = u32> {
        self.words[head.roots as usize..head.joins as usize].iter().map(|&step| step as u32)
    }

    /// For how many steps each join of a run waits: each step that waits for more than one.
    pub(crate) fn joins(&self, head: &RunHead) -> impl ExactSizeIterator<Item = u32> {
        self.words[head.joins as usize..head.records as usize].iter().map(|&waits| waits as u32)
    }
}

fn distinct(after: &[u32]) -> Vec<u32> {
    let mut sorted = after.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    sorted
}

fn place(at: usize) -> Result<u32, ReplayError> {
    u32::try_from(at).map_err(|_| ReplayError::TooMany)
}
