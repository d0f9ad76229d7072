//! What cannot be replayed, and what to do about it.

use thiserror::Error;

/// Why a replay, or a search for a need, was not made.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ReplayError {
    /// A run of a workflow that is not there.
    #[error("run {run} is of workflow {workflow}, which is not among the named ones: name it")]
    Workflow {
        /// The run's place.
        run: usize,
        /// What it named.
        workflow: u32,
    },
    /// A run that does nothing.
    #[error("run {run} has no steps: leave it out, or say what it does")]
    NoSteps {
        /// The run's place.
        run: usize,
    },
    /// A step that waits for itself or a later one.
    #[error("step {step} of run {run} waits for itself or a later step: put steps after those they wait for")]
    Order {
        /// The run's place.
        run: usize,
        /// The step's place in it.
        step: usize,
    },
    /// A step that goes nowhere.
    #[error("step {step} of run {run} has no route: give it a pool")]
    NoRoute {
        /// The run's place.
        run: usize,
        /// The step's place in it.
        step: usize,
    },
    /// More than can be counted.
    #[error("more than four billion calls: sample the runs, or replay a shorter time")]
    TooMany,
    /// A route to a pool that is not there.
    #[error("a route goes to pool {pool}, but there are {pools}: add the pool")]
    Pool {
        /// What it named.
        pool: usize,
        /// How many there are.
        pools: usize,
    },
    /// A route whose draws are not the pool's dimensions.
    #[error(
        "a route to pool {pool} draws on {draws} dimensions, the pool has {dimensions}: meter the call for each"
    )]
    Draws {
        /// The pool's name.
        pool: String,
        /// How many the route has.
        draws: usize,
        /// How many the pool has.
        dimensions: usize,
    },
    /// A call that fails over to where it comes from.
    #[error("a call fails over from pool {pool} to itself: give it another pool, or none")]
    Circle {
        /// The pool's name.
        pool: String,
    },
    /// A run of a class that is not there.
    #[error("run {run} is of class {class}, but there are {classes}: declare the class")]
    Class {
        /// The run's place.
        run: usize,
        /// What it named.
        class: u16,
        /// How many there are.
        classes: usize,
    },
    /// A pool that names a quota that is not there.
    #[error("pool {pool} draws on quota {quota}, but there are {quotas}: add the quota")]
    Quota {
        /// The pool's name.
        pool: String,
        /// What it named.
        quota: usize,
        /// How many there are.
        quotas: usize,
    },
    /// A quota over a dimension that its pool does not meter.
    #[error("pool {pool} has a quota on {dimension}, which its calls are not metered by: add the dimension")]
    Dimension {
        /// The pool's name.
        pool: String,
        /// What the quota counts.
        dimension: String,
    },
    /// A rule that cannot be enforced.
    #[error("the quota on {dimension} {what}")]
    Rule {
        /// What the quota counts.
        dimension: String,
        /// What is wrong, and what to do.
        what: &'static str,
    },
    /// A policy that contradicts itself.
    #[error("the policy of pool {pool} {what}")]
    Policy {
        /// The pool's name.
        pool: String,
        /// What is wrong, and what to do.
        what: String,
    },
    /// More lanes than a queue has.
    #[error("pool {pool} is called by more than 64 pairs of tier and class: use fewer classes")]
    Lanes {
        /// The pool's name.
        pool: String,
    },
    /// Retries that never begin.
    #[error("a retry rule allows no attempt at all: allow at least one")]
    Attempts,
    /// A measured time that is empty.
    #[error("the replay ends before it is measured: end it later")]
    Empty,
    /// Arrivals of a workflow that has no runs.
    #[error("workflow {workflow} has a rate but no measured run: measure one, or leave out the rate")]
    NoRuns {
        /// Its name.
        workflow: String,
    },
    /// A rate or a burst that is not a number, or is negative.
    #[error("workflow {workflow} has a rate or burst that is negative or not a number: give numbers from 0")]
    Rate {
        /// Its name.
        workflow: String,
    },
    /// A factor that cannot be.
    #[error("arrivals cannot come {factor} times as often: give a number from 0")]
    Factor {
        /// What was asked for.
        factor: String,
    },
    /// A need of which nothing is known.
    #[error("no call that was replayed draws on {dimension}: measure some, or leave the limit out")]
    NoDemand {
        /// What was searched for.
        dimension: String,
    },
    /// A need that no amount satisfies.
    #[error(
        "no amount of {dimension} keeps every tier within its target, since something else refuses calls: \
         raise what the replay without this limit names first"
    )]
    OtherBinds {
        /// What was searched for.
        dimension: String,
    },
}
