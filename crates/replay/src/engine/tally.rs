//! What is counted per workflow and tier while a replay runs.
//!
//! The invariant: an operation is counted where it was wanted within the measured time, once, however
//! often it was tried.

use crate::gauge::Gauge;
use crate::retry::Retry;
use crate::sample::Sample;
use crate::time::Micros;
use crate::world::TierRules;

/// One workflow in one tier.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) tier: u8,
    pub(crate) workflow: u32,
    /// Place among the tiers.
    pub(crate) rank: usize,
    pub(crate) max_wait: Option<Micros>,
    pub(crate) retry: Retry,
    pub(crate) runs: Gauge,
    pub(crate) waiting: Gauge,
    pub(crate) counts: Counts,
}

/// Sums over runs and operations, which add up over groups.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counts {
    pub(crate) runs: Ends,
    pub(crate) operations: Ends,
    /// Operations that a limit turned away at least once.
    pub(crate) throttled: u64,
    /// Attempts that the provider refused.
    pub(crate) refused: u64,
    pub(crate) failed_over: u64,
    pub(crate) nano_usd: u128,
    pub(crate) waits: Sample,
    pub(crate) completion: Sample,
    pub(crate) ttft: Sample,
}

/// How many began, and how they ended; those that did neither are still in flight.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Ends {
    pub(crate) offered: u64,
    pub(crate) completed: u64,
    pub(crate) failed: u64,
    pub(crate) expired: u64,
    /// Seen at the end, not derived from the others.
    pub(crate) in_flight: u64,
}

impl Group {
    pub(crate) fn new(tier: u8, workflow: u32, rank: usize, rules: &TierRules, from: Micros) -> Self {
        Self {
            tier,
            workflow,
            rank,
            max_wait: rules.max_wait,
            retry: rules.retry.clone(),
            runs: Gauge::new(from),
            waiting: Gauge::new(from),
            counts: Counts::default(),
        }
    }
}

impl Counts {
    pub(crate) fn add(&mut self, other: &Self) {
        self.runs.add(other.runs);
        self.operations.add(other.operations);
        self.throttled += other.throttled;
        self.refused += other.refused;
        self.failed_over += other.failed_over;
        self.nano_usd += other.nano_usd;
        self.waits.append(&other.waits);
        self.completion.append(&other.completion);
        self.ttft.append(&other.ttft);
    }
}

impl Ends {
    fn add(&mut self, other: Self) {
        self.offered += other.offered;
        self.completed += other.completed;
        self.failed += other.failed;
        self.expired += other.expired;
        self.in_flight += other.in_flight;
    }

    pub(crate) fn conserved(self) -> bool {
        self.offered == self.completed + self.failed + self.expired + self.in_flight
    }
}
