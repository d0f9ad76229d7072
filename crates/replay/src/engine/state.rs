//! What a replay knows of each call and run that has begun.

use crate::runs::Runs;
use crate::time::Micros;

/// Where a call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Not wanted yet.
    Ahead,
    /// In its pool's queue.
    Queued,
    /// Refused, and to be tried again.
    BackOff,
    /// Let in.
    Running,
    /// Let in, and speaking.
    Streaming,
    /// Over, one way or another.
    Over,
}

/// One call of one run.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) wanted: Micros,
    /// When it came to the pool where it is now.
    pub(super) at_pool: Micros,
    /// When it was let in.
    pub(super) admitted: Micros,
    pub(super) run: u32,
    /// Which of the steps of all runs.
    pub(super) step: u32,
    /// How many earlier steps are still to end.
    pub(super) waits_for: u32,
    /// Refusals, in all and at this pool.
    pub(super) refused: u32,
    pub(super) refused_here: u32,
    /// Its number with the pool's broker.
    pub(super) ledger: u32,
    pub(super) route: u8,
    pub(super) stage: Stage,
    /// Counted among those that wait at its pool.
    pub(super) waits: bool,
    /// Turned away by a limit, at all and at this pool.
    pub(super) throttled: bool,
    pub(super) throttled_here: bool,
    /// Whether its end of waiting is set.
    pub(super) expires: bool,
}

impl Call {
    pub(super) fn new(run: u32, step: u32, waits_for: u32) -> Self {
        Self {
            wanted: Micros::MAX,
            at_pool: Micros::ZERO,
            admitted: Micros::ZERO,
            run,
            step,
            waits_for,
            refused: 0,
            refused_here: 0,
            ledger: 0,
            route: 0,
            stage: Stage::Ahead,
            waits: false,
            throttled: false,
            throttled_here: false,
            expires: false,
        }
    }
}

/// How a run that cannot complete came to that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lost {
    /// A call was refused as often as its client tries, or can never be let in.
    Failed,
    /// A call waited longer than it may.
    Expired,
}

/// One run that has begun.
#[derive(Debug, Clone)]
pub(super) struct Begun {
    /// Which of the measured runs.
    pub(super) run: u32,
    /// Where its calls begin.
    pub(super) first_call: u32,
    pub(super) arrival: Micros,
    pub(super) first_token: Micros,
    /// Calls that are wanted, or will be after a pause.
    pub(super) open: u32,
    pub(super) lost: Option<Lost>,
    pub(super) group: u32,
    pub(super) over: bool,
}

/// Adds the calls of a run to the others.
pub(super) fn begin(calls: &mut Vec<Call>, runs: &Runs, run: u32, begun: u32) {
    let head = &runs.heads()[run as usize];
    let steps = head.first_step..head.first_step + head.steps;
    calls.extend(steps.map(|step| Call::new(begun, step, runs.step(step).waits_for)));
}
