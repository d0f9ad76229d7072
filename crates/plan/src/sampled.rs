//! Measured runs as a replay takes them: what a call used, which call came after which, and what lay
//! between.
//!
//! Spans tell when calls started and ended, not why. A call is taken to wait for those that had ended
//! when it was wanted and that no other such call had waited for: several calls after one are a
//! fan-out, a call after several joins them. What passed between is the agent's own time (its thinking
//! and its tools) and stays as it was.
//!
//! What a limit did to a run is taken out first, since a replay does its own. A call of which every attempt
//! was refused used nothing, and the run came back to it later: the next call stands in its place, wanted
//! when that one was, so the time for which the run was parked is a wait and no thinking. What a run did
//! before it had to begin again is left out. A run that ended with a refusal is cut short, and
//! [`Served::cut`] says so.
//!
//! The invariant: replayed without limits, every call is wanted when it was measured, less the waits for
//! limits before it.

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

/// A run without what limits did to it.
pub(crate) struct Served {
    /// Calls that were let in, in the order in which they were wanted.
    pub(crate) calls: Vec<SampledCall>,
    /// Whether the run ended with a refusal, so that the rest of it is not known.
    pub(crate) cut: bool,
}

/// What a run would have done had nothing been refused, as far as it shows.
pub(crate) fn served(run: &SampledRun) -> Served {
    let let_in = |call: &SampledCall| !call.refused && !call.tool;
    // Where it last came back after a refusal; a run that began again did so there.
    let came_back = run.calls.iter().rposition(let_in).and_then(|last| {
        let before = run.calls.get(..last)?;
        before.iter().rposition(|call| call.refused)
    });
    let again = if run.restarted { came_back.map_or(0, |refused| refused + 1) } else { 0 };
    let kept = run.calls.get(again..).unwrap_or_default();
    let first = |calls: &[SampledCall]| calls.first().map_or(0, |call| call.wanted_us);
    let shift = first(kept) - first(&run.calls);
    let mut calls: Vec<SampledCall> = Vec::with_capacity(kept.len());
    let mut wanted_since: Option<i64> = None;
    for call in kept {
        if call.refused {
            wanted_since.get_or_insert(call.wanted_us);
            continue;
        }
        let since = if call.tool { None } else { wanted_since.take() };
        calls.push(SampledCall {
            wanted_us: since.unwrap_or(call.wanted_us) - shift,
            start_us: call.start_us - shift,
            ..call.clone()
        });
    }
    calls.sort_by_key(|call| call.wanted_us);
    Served { calls, cut: wanted_since.is_some() }
}

/// Calls as steps; `routes` tells where each can go. `None` where a route is not known.
fn steps<'c>(
    calls: impl IntoIterator<Item = &'c SampledCall>,
    routes: impl Fn(&SampledCall) -> Option<Vec<Route>>,
) -> Option<Vec<Step>> {
    let calls: Vec<&SampledCall> = calls.into_iter().collect();
    let mut steps: Vec<Step> = Vec::with_capacity(calls.len());
    for (at, call) in calls.iter().enumerate() {
        let ended = |before: &&SampledCall| ends(before) <= call.wanted_us;
        let before: Vec<usize> = (0..at).filter(|&before| calls.get(before).is_some_and(ended)).collect();
        let waited_for = |&last: &usize| {
            before
                .iter()
                .filter_map(|&other| steps.get(other))
                .any(|other| other.after.contains(&place(last)))
        };
        let after: Vec<usize> = before.iter().copied().filter(|last| !waited_for(last)).collect();
        let free = after.iter().filter_map(|&last| calls.get(last)).map(|call| ends(call)).max().unwrap_or(0);
        steps.push(Step {
            after: after.into_iter().map(place).collect(),
            think: micros(call.wanted_us - free),
            routes: routes(call)?,
        });
    }
    Some(steps)
}

/// From the start of a run to the start and to the end of each step, if it never waits for a limit.
pub(crate) fn times(steps: &[Step]) -> Vec<(Micros, Micros)> {
    let mut times: Vec<(Micros, Micros)> = Vec::with_capacity(steps.len());
    for step in steps {
        let before = step.after.iter().filter_map(|&before| times.get(before as usize));
        let start = before.map(|(_, end)| *end).max().unwrap_or_default() + step.think;
        let latency = step.routes.first().map_or(Micros::ZERO, |route| route.latency);
        times.push((start, start + latency));
    }
    times
}

/// From the start of a run to the end of its last step, likewise.
pub(crate) fn length(steps: &[Step]) -> Micros {
    times(steps).into_iter().map(|(_, end)| end).max().unwrap_or_default()
}

/// What a run does on the stage.
#[derive(Debug, Clone)]
pub(crate) struct Course {
    pub(crate) steps: Vec<Step>,
    /// As [`Served::cut`].
    pub(crate) cut: bool,
}

/// A run's course by those of its calls that count; `routes` tells where each can go. `None` where a route is not
/// known.
pub(crate) fn course(
    run: &SampledRun,
    counts: impl Fn(&SampledCall) -> bool,
    routes: impl Fn(&SampledCall) -> Option<Vec<Route>>,
) -> Option<Course> {
    let Served { calls, cut } = served(run);
    Some(Course { steps: steps(calls.iter().filter(|call| counts(call)), routes)?, cut })
}

/// Gives every run that was cut short the rest of one that was not: its steps from the place at which the
/// other ends. Those for which there is no longer one stay as they are; says how many were completed, and how
/// many were not.
pub(crate) fn complete(runs: &mut [Course]) -> (u64, u64) {
    let (mut completed, mut left) = (0u64, 0);
    if runs.iter().all(|run| !run.cut) {
        return (completed, left);
    }
    let whole: Vec<Vec<Step>> = runs.iter().filter(|run| !run.cut).map(|run| run.steps.clone()).collect();
    for Course { steps, .. } in runs.iter_mut().filter(|run| run.cut) {
        let longer: Vec<&Vec<Step>> = whole.iter().filter(|whole| whole.len() > steps.len()).collect();
        match longer.get(usize::try_from(completed).unwrap_or(0) % longer.len().max(1)) {
            Some(other) => {
                steps.extend(other.iter().skip(steps.len()).cloned());
                completed += 1;
            }
            None => left += 1,
        }
    }
    (completed, left)
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

    fn to_steps(calls: &[SampledCall]) -> Option<Vec<Step>> {
        let route = |call: &SampledCall| Route {
            pool: 0,
            draws: Vec::new(),
            latency: micros(call.latency_us),
            ttft: None,
            nano_usd: 0,
        };
        steps(calls, |call| Some(vec![route(call)]))
    }

    fn shape(run: &SampledRun) -> Option<Vec<(Vec<u32>, u64)>> {
        let steps = to_steps(&served(run).calls)?;
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
    /// A run whose second call was refused at 20, parked, was refused again at 300 and let in at 700: the wait
    /// of 680 is no thinking, and the run is as long as its calls and its own pauses.
    #[test]
    fn a_parked_run_waited_and_did_not_think() {
        let mut parked = run(&[(5, 10), (20, 1), (300, 1), (700, 10), (720, 10)]);
        (parked.calls[1].refused, parked.calls[2].refused) = (true, true);
        let found = shape(&parked);
        assert_eq!(found, Some(vec![(vec![], 5), (vec![0], 5), (vec![1], 10)]));
        assert!(!served(&parked).cut);
        let steps = to_steps(&served(&parked).calls).unwrap_or_default();
        assert_eq!(length(&steps), Micros(5 + 10 + 5 + 10 + 10 + 10));
    }

    /// A run that began again is what it did from then on, as if it had begun so.
    #[test]
    fn a_restarted_run_is_its_second_beginning() {
        let mut again = run(&[(5, 10), (20, 1), (500, 10), (520, 10), (540, 10)]);
        again.calls[1].refused = true;
        again.restarted = true;
        assert_eq!(shape(&again), Some(vec![(vec![], 5), (vec![0], 10), (vec![1], 10)]));
    }

    /// A run that a limit ended gets the rest of one that it did not end; where none went further, it is said.
    #[test]
    fn a_run_that_was_cut_short_is_completed() {
        let mut cut = run(&[(5, 10), (20, 1)]);
        cut.calls[1].refused = true;
        assert!(served(&cut).cut);
        let of = |run: &SampledRun| Course {
            steps: to_steps(&served(run).calls).unwrap_or_default(),
            cut: served(run).cut,
        };
        let whole = run(&[(0, 10), (20, 10), (40, 7)]);
        let mut runs = vec![of(&cut), of(&whole)];
        assert_eq!(complete(&mut runs), (1, 0));
        let think: Vec<u64> = runs[0].steps.iter().map(|step| step.think.0).collect();
        assert_eq!(think, [5, 10, 10]);
        let mut alone = vec![of(&cut)];
        assert_eq!(complete(&mut alone), (0, 1));
    }
}
