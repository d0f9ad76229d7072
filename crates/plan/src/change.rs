//! What a stress changes about runs before they are replayed.
//!
//! The invariant: a change of nothing gives the runs as they were measured.

use plimsoll_catalog::Call;
use plimsoll_replay::{Micros, Step};

use crate::context::PoolId;

/// A change of runs. Percentages are of what was measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    /// Rate of every workflow.
    pub(crate) rate_percent: u64,
    /// Time that a call takes.
    pub(crate) latency_percent: u64,
    /// The agent's own time between calls: its thinking and its tools.
    pub(crate) think_percent: u64,
    /// Input of a call.
    pub(crate) input_percent: u64,
    /// Whether nothing is served from a cache.
    pub(crate) cache_lost: bool,
    /// Every so manieth call is made twice, one after the other.
    pub(crate) repeated_every: Option<usize>,
    /// Whether calls that run side by side are twice as many.
    pub(crate) wider: bool,
    /// How often the tenth of runs with most calls are drawn, for once that the others are.
    pub(crate) tail_times: usize,
    /// A pool that is gone, with the one that takes its calls.
    pub(crate) lost: Option<(PoolId, PoolId)>,
}

impl Default for Change {
    fn default() -> Self {
        Self {
            rate_percent: 100,
            latency_percent: 100,
            think_percent: 100,
            input_percent: 100,
            cache_lost: false,
            repeated_every: None,
            wider: false,
            tail_times: 1,
            lost: None,
        }
    }
}

impl Change {
    /// What a call then uses.
    pub(crate) fn used(&self, call: Call) -> Call {
        let more = |tokens: u64| percent(tokens, self.input_percent);
        let call = Call {
            input_uncached: more(call.input_uncached),
            cache_read: more(call.cache_read),
            cache_write: more(call.cache_write),
            ..call
        };
        if !self.cache_lost {
            return call;
        }
        let input_uncached = call.input_uncached + call.cache_read + call.cache_write;
        Call { input_uncached, cache_read: 0, cache_write: 0, ..call }
    }

    /// Steps as they then are.
    pub(crate) fn steps(&self, steps: &[Step]) -> Vec<Step> {
        let mut changed: Vec<Step> = Vec::with_capacity(steps.len());
        // Where the last step of each measured one stands.
        let mut place: Vec<u32> = Vec::with_capacity(steps.len());
        for (at, step) in steps.iter().enumerate() {
            let mut step = step.clone();
            step.think = times(step.think, self.think_percent);
            step.after =
                step.after.iter().filter_map(|&before| place.get(before as usize)).copied().collect();
            for route in &mut step.routes {
                route.latency = times(route.latency, self.latency_percent);
                route.ttft = route.ttft.map(|ttft| times(ttft, self.latency_percent));
            }
            if self.wider
                && steps.iter().enumerate().any(|(other, beside)| {
                    other != at
                        && !beside.after.is_empty()
                        && Some(&beside.after) == steps.get(at).map(|step| &step.after)
                })
            {
                changed.push(step.clone());
            }
            if self.repeated_every.is_some_and(|every| at % every == every - 1) {
                changed.push(step.clone());
                step.after = vec![last(&changed)];
                step.think = Micros::ZERO;
            }
            changed.push(step);
            place.push(last(&changed));
        }
        changed
    }
}

/// The place of the last step.
fn last(steps: &[Step]) -> u32 {
    u32::try_from(steps.len().saturating_sub(1)).unwrap_or(u32::MAX)
}

fn percent(amount: u64, percent: u64) -> u64 {
    u64::try_from((u128::from(amount) * u128::from(percent)).div_ceil(100)).unwrap_or(u64::MAX)
}

fn times(time: Micros, by: u64) -> Micros {
    Micros(percent(time.0, by))
}

#[cfg(test)]
mod tests {
    use plimsoll_replay::Route;

    use super::*;

    fn step(after: &[u32], think: u64) -> Step {
        let route = Route { pool: 0, draws: Vec::new(), latency: Micros(10), ttft: None, nano_usd: 0 };
        Step { after: after.to_vec(), think: Micros(think), routes: vec![route] }
    }

    /// A change of nothing changes nothing; repeated calls stand before what waited for them; fan-outs
    /// double and chains do not.
    #[test]
    fn steps_change_as_told() {
        let chain = vec![step(&[], 1), step(&[0], 2), step(&[1], 3)];
        assert_eq!(Change::default().steps(&chain), chain);
        let twice = Change { repeated_every: Some(2), ..Change::default() }.steps(&chain);
        let after: Vec<&[u32]> = twice.iter().map(|step| step.after.as_slice()).collect();
        assert_eq!(after, [&[][..], &[0], &[1], &[2]]);
        assert_eq!(twice.get(2).map(|step| step.think), Some(Micros::ZERO));
        let wider = Change { wider: true, ..Change::default() };
        assert_eq!(wider.steps(&chain), chain);
        let fan = vec![step(&[], 0), step(&[0], 1), step(&[0], 1), step(&[1, 2], 1)];
        assert_eq!(wider.steps(&fan).len(), 6);
        let slow = Change { latency_percent: 200, think_percent: 300, ..Change::default() }.steps(&chain);
        assert_eq!(
            slow.first().map(|step| (step.think, step.routes[0].latency)),
            Some((Micros(3), Micros(20)))
        );
    }

    /// A lost cache makes all input uncached; more context makes more of each kind.
    #[test]
    fn calls_use_as_told() {
        let call = Call { input_uncached: 10, cache_read: 20, cache_write: 30, output: 5, ..Call::default() };
        let lost = Change { cache_lost: true, input_percent: 150, ..Change::default() }.used(call);
        assert_eq!((lost.input_uncached, lost.cache_read, lost.cache_write, lost.output), (90, 0, 0, 5));
    }
}
