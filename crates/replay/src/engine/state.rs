//! What a replay knows of each call and run that has begun.

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
    /// When it was let in; or, while it backs off, when it is tried again. A retry at another time is
    /// not for it.
    pub(super) mark: Micros,
    pub(super) run: u32,
    /// Where the records begin of its step, and of the route that it is on.
    pub(super) step: u32,
    pub(super) on: u32,
    /// Refusals, in all and at this pool.
    pub(super) refused: u16,
    pub(super) refused_here: u16,
    /// Its number with the pool's broker.
    pub(super) ledger: u32,
    /// Which of the step's routes that is.
    pub(super) route: u8,
    /// Counted as an operation: a model call that was wanted in the measured time.
    pub(super) counted: bool,
    pub(super) stage: Stage,
    /// Counted among those that wait at its pool.
    pub(super) waits: bool,
    /// Turned away by a limit, at all and at this pool.
    pub(super) throttled: bool,
    pub(super) throttled_here: bool,
    /// Whether the end of its wait is set. An end at another time than its own is not for it.
    pub(super) expires: bool,
}

impl Call {
    pub(super) fn new(run: u32, step: u32, on: u32) -> Self {
        Self {
            wanted: Micros::MAX,
            at_pool: Micros::ZERO,
            mark: Micros::ZERO,
            run,
            step,
            on,
            refused: 0,
            refused_here: 0,
            ledger: 0,
            route: 0,
            counted: false,
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
    /// Where the waits of its joins begin, and how many they are.
    pub(super) first_join: u32,
    pub(super) joins: u32,
    pub(super) tier: u8,
    pub(super) class: u16,
    pub(super) arrival: Micros,
    pub(super) first_token: Micros,
    /// Calls that are wanted, or will be after a pause.
    pub(super) open: u32,
    pub(super) lost: Option<Lost>,
    pub(super) group: u32,
    pub(super) over: bool,
}
