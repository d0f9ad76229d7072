//! Measured runs as a replay takes them: what a call used, which call came after which, and what lay
//! between.
//!
//! Spans tell when calls started and ended, not why. A call is taken to wait for those that had ended
//! when it was wanted and that no other such call had waited for: several calls after one are a
//! fan-out, a call after several joins them. What passed between is the agent's own time (its thinking
//! and its tools) and stays as it was. The invariant: replayed without limits, every call is wanted
//! when it was measured, less the waits for limits before it.

use plimsoll_catalog::Call;
use plimsoll_replay::{Micros, Route, Step};

use crate::{SampledCall, SampledRun};

/// What a call used, as the catalog meters it; `None` where that is unknown. Where the client does not
/// tell what a cache served, all input counts as uncached: an upper bound.
pub(crate) fn used(call: &SampledCall) -> Option<Call> {
    if !call.billed && call.output_tokens.is_none() {
        return Some(Call { max_output: Some(0), ..Call::default() });
    }
    Some(Call {
        input_uncached: call.input_uncached.or(call.input_tokens)?,
        cache_read: call.cache_read.unwrap_or(0),
        cache_write: call.cache_write.unwrap_or(0),
        output: call.output_tokens?,
        reasoning: call.reasoning_tokens.unwrap_or(0),
        max_output: call.max_output_tokens,
        ..Call::default()
    })
}

/// The calls of a run as steps; `route` tells where each goes. `None` where a route is not known.
pub(crate) fn steps(run: &SampledRun, route: impl Fn(&SampledCall) -> Option<Route>) -> Option<Vec<Step>> {
    let mut steps: Vec<Step> = Vec::with_capacity(run.calls.len());
    for (at, call) in run.calls.iter().enumerate() {
        let ended = |before: &SampledCall| ends(before) <= call.wanted_us;
        let before: Vec<usize> = (0..at).filter(|&before| run.calls.get(before).is_some_and(ended)).collect();
        let waited_for = |&last: &usize| {
            before
                .iter()
                .filter_map(|&other| steps.get(other))
                .any(|other| other.after.contains(&place(last)))
        };
        let after: Vec<usize> = before.iter().copied().filter(|last| !waited_for(last)).collect();
        let free = after.iter().filter_map(|&last| run.calls.get(last)).map(ends).max().unwrap_or(0);
        steps.push(Step {
            after: after.into_iter().map(place).collect(),
            think: micros(call.wanted_us - free),
            routes: vec![route(call)?],
        });
    }
    Some(steps)
}

/// When a call was over, microseconds from the run's start.
fn ends(call: &SampledCall) -> i64 {
    call.start_us.saturating_add(call.latency_us)
}

pub(crate) fn micros(us: i64) -> Micros {
    Micros(u64::try_from(us).unwrap_or(0))
}

fn place(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run whose calls started at these instants and took so long, all let in at once.
    fn run(calls: &[(i64, i64)]) -> SampledRun {
        let call = |&(start, latency): &(i64, i64)| SampledCall {
            wanted_us: start,
            start_us: start,
            latency_us: latency,
            ..SampledCall::default()
        };
        SampledRun { calls: calls.iter().map(call).collect(), ..SampledRun::default() }
    }

    fn shape(run: &SampledRun) -> Option<Vec<(Vec<u32>, u64)>> {
        let route = |call: &SampledCall| {
            Some(Route {
                pool: 0,
                draws: Vec::new(),
                latency: micros(call.latency_us),
                ttft: None,
                nano_usd: 0,
            })
        };
        let steps = steps(run, route)?;
        Some(steps.into_iter().map(|step| (step.after, step.think.0)).collect())
    }

    /// One call, then two side by side, then one that joins them: the last waits for both, and not
    /// for the first a second time.
    #[test]
    fn fan_out_and_join() {
        let found = shape(&run(&[(5, 10), (20, 30), (22, 10), (60, 5)]));
        let wanted = vec![(vec![], 5), (vec![0], 5), (vec![0], 7), (vec![1, 2], 10)];
        assert_eq!(found, Some(wanted));
    }

    /// Calls that overlap wait for nothing but the start; a wait for a limit is not the agent's time.
    #[test]
    fn waits_for_limits_are_left_out() {
        let mut waited = run(&[(0, 10), (0, 10), (100, 10)]);
        waited.calls[1].start_us = 70;
        waited.calls[2].wanted_us = 85;
        let found = shape(&waited);
        assert_eq!(found, Some(vec![(vec![], 0), (vec![], 0), (vec![0, 1], 5)]));
    }
}
