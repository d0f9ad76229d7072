//! The end of a replay: what is still in flight, told from the calls and runs themselves.
//!
//! The invariant: nothing here is derived from the counters of those that ended, so that what was
//! offered can be held against what became of it, and levels against stays.

use super::Engine;
use super::state::Stage;
use crate::time::Micros;

/// Microseconds that those still inside have spent there, by boundary.
#[derive(Debug, Default)]
pub(crate) struct Still {
    /// Runs, by group.
    pub(crate) runs: Vec<u128>,
    /// Calls that wait, by group.
    pub(crate) waiting: Vec<u128>,
    /// Calls by pool: those that run, wait, stream.
    pub(crate) pools: Vec<[u128; 3]>,
}

impl Engine<'_> {
    /// Counts whatever is not over, and for how long it has been so.
    pub(super) fn close(&mut self) {
        let (from, until) = (self.settings.from, self.settings.until);
        let stay = |entered: Micros| u128::from((until - entered.max(from)).0);
        let mut still = Still {
            runs: vec![0; self.groups.len()],
            waiting: vec![0; self.groups.len()],
            pools: vec![[0; 3]; self.stations.len()],
        };
        for begun in self.slots.begun.iter().filter(|begun| !begun.over) {
            let group = begun.group as usize;
            still.runs[group] += stay(begun.arrival);
            self.groups[group].counts.runs.in_flight += u64::from(begun.arrival >= from);
        }
        let begun = self.slots.calls.iter().filter(|call| !matches!(call.stage, Stage::Ahead | Stage::Over));
        for call in begun {
            let group = self.slots.begun[call.run as usize].group as usize;
            let route = self.runs.route(call.on);
            let pool = &mut still.pools[route.pool()];
            self.groups[group].counts.operations.in_flight += u64::from(call.counted);
            match call.stage {
                Stage::Running => pool[0] += stay(call.mark),
                Stage::Streaming => {
                    pool[0] += stay(call.mark);
                    pool[2] += stay(call.mark + route.ttft());
                }
                _ => {
                    pool[1] += stay(call.at_pool);
                    still.waiting[group] += stay(call.at_pool);
                }
            }
        }
        self.still = still;
    }
}
