//! The need of what comes, from what lies before an origin: by replay, and by P95.
//!
//! A trace has no calendar, no workflows and no runs of several calls, so a plan is made of its past
//! peaks. The history is cut into stretches alike, days where it has enough of them, else eighths of it.
//! The planner's [`coming_peak`] says from their largest windows how large the largest of a coming one
//! will be; then the largest past peaks are replayed as they were, each at the size of the coming one,
//! and the need is the smallest limit that serves every tier in all of them as well as a plan must.
//!
//! Leaves holding it against anything to [`crate::score`]. The invariant: nothing behind the origin is
//! looked at but how long it will be, as a plan knows its horizon.

use plimsoll_plan::{Policy, REPLAY_SEEDS, coming_peak};
use plimsoll_replay::{Arrivals, Case, Micros, Replay, ReplayError, Runs, Search, Settings, need};

use crate::error::BacktestError;
use crate::score::world;
use crate::trace::{Call, Trace};

/// Windows of a day.
const DAY: usize = 1440;

/// Days that are enough to go by days.
const FEWEST_DAYS: usize = 4;

/// Stretches of a shorter history.
const STRETCHES: usize = 8;

/// How sure the coming peak is: three of four for the stretch halfway through what comes. The one of four
/// passes its limit in its largest windows only, and headroom is for them.
const CERTAINTY: f64 = 0.75;

/// Windows before and after a peak that are replayed with it.
const AROUND: usize = 30;

/// Needs of one origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Needs {
    /// By replay.
    pub(crate) replay: u64,
    /// P95 draw x requests in the busy minute.
    pub(crate) p95: u64,
}

/// A stretch of the history.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    /// Its first window, and the first behind it.
    windows: (usize, usize),
    /// The largest of them.
    peak: usize,
    /// What that asked for.
    demand: u64,
}

/// What a plan made at an origin, the place of the first window that it does not know, asks for.
///
/// # Errors
/// [`BacktestError::Replay`] where what was drawn cannot be replayed.
pub(crate) fn needs(trace: &Trace, origin: usize) -> Result<Needs, BacktestError> {
    let until = trace.period.start(origin);
    let known = Trace {
        name: trace.name.clone(),
        quota: trace.quota.clone(),
        period: trace.period,
        calls: between(&trace.calls, Micros::ZERO, until).to_vec(),
        of: trace.of,
    };
    let demand = known.demand();
    let demand = demand.get(..origin).unwrap_or_default();
    let stretches = stretches(demand);
    let ahead = trace.period.windows() - origin;
    let peaks: Vec<f64> = stretches.iter().map(|stretch| stretch.demand as f64).collect();
    let length = stretches.first().map_or(1, |stretch| stretch.windows.1 - stretch.windows.0);
    let halfway = ahead as f64 / length as f64 / 2.0;
    // Where nothing was drawn yet, a plan has no data and asks for nothing.
    let Some(coming) = coming_peak(&peaks, halfway, CERTAINTY) else {
        return Ok(Needs { replay: 0, p95: 0 });
    };
    let replay = replayed(&known, stretches, coming)
        .map_err(|source| BacktestError::Replay { trace: trace.name.clone(), source })?;
    Ok(Needs { replay, p95: p95(&known, origin) })
}

/// The history from its end backwards in stretches alike; what is left at its beginning is left out.
fn stretches(demand: &[u64]) -> Vec<Stretch> {
    let length = if demand.len() >= FEWEST_DAYS * DAY { DAY } else { (demand.len() / STRETCHES).max(1) };
    let stretch = |(nth, windows): (usize, &[u64])| {
        let until = demand.len() - nth * length;
        let (at, demand) = windows.iter().enumerate().rev().max_by_key(|(_, demand)| **demand)?;
        let from = until - windows.len();
        Some(Stretch { windows: (from, until), peak: from + at, demand: *demand })
    };
    let mut found: Vec<Stretch> = demand.rchunks_exact(length).enumerate().filter_map(stretch).collect();
    found.reverse();
    found
}

/// The smallest limit that serves the largest past peaks, each at the size of the coming one.
fn replayed(known: &Trace, mut stretches: Vec<Stretch>, coming: f64) -> Result<u64, ReplayError> {
    stretches.sort_by_key(|stretch| std::cmp::Reverse(stretch.demand));
    stretches.truncate(REPLAY_SEEDS as usize);
    stretches.retain(|stretch| stretch.demand > 0);
    let within = |stretch: &Stretch| -> (Micros, Micros) {
        let from = stretch.peak.saturating_sub(AROUND).max(stretch.windows.0);
        let until = (stretch.peak + 1 + AROUND).min(stretch.windows.1);
        (known.period.start(from), known.period.start(until))
    };
    let binding = known.binding();
    let mut runs = Runs::new([known.name.as_str()]);
    let mut draws = Vec::new();
    for stretch in &stretches {
        let (from, until) = within(stretch);
        for call in between(&known.calls, from, until) {
            runs.push(&call.run())?;
            draws.push(binding(&call.draw));
        }
    }
    let draw = |run: u32| draws.get(run as usize).copied().unwrap_or(0);
    let recorded = Arrivals::recorded(&runs);
    let case = |(seed, stretch): (u64, &Stretch)| -> Result<Case, ReplayError> {
        let (from, until) = within(stretch);
        let arrivals = recorded.between(from, until).times(coming / stretch.demand as f64, draw)?;
        Ok((arrivals, Settings { from, seed, ..Settings::until(until) }))
    };
    let cases = (1..).zip(&stretches).map(case).collect::<Result<Vec<_>, _>>()?;
    let search = Search::new(0, Policy::default().throttle_target.by_tier());
    Ok(need(&Replay::new(&world(known), &runs)?, &cases, &search)?.most)
}

fn between(calls: &[Call], from: Micros, until: Micros) -> &[Call] {
    let place = |at: Micros| calls.partition_point(|call| call.at < at);
    calls.get(place(from)..place(until)).unwrap_or_default()
}

/// P95 draw of a request, interpolated, x requests in the busiest window.
fn p95(known: &Trace, windows: usize) -> u64 {
    let binding = known.binding();
    let mut draws: Vec<u64> = known.calls.iter().map(|call| binding(&call.draw)).collect();
    draws.sort_unstable();
    let mut counts = vec![0_u64; windows];
    for window in known.calls.iter().filter_map(|call| known.period.window(call.at)) {
        if let Some(count) = counts.get_mut(window) {
            *count += 1;
        }
    }
    // The rank is low + part / 100, in whole numbers.
    let hundredths = draws.len().saturating_sub(1) as u128 * 95;
    let (low, part) = ((hundredths / 100) as usize, hundredths % 100);
    let at = |rank: usize| u128::from(draws.get(rank).or(draws.last()).copied().unwrap_or(0));
    let draw = at(low) * (100 - part) + at(low + 1) * part;
    let busiest = u128::from(counts.into_iter().max().unwrap_or(0));
    u64::try_from((draw * busiest).div_ceil(100)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 20 windows are stretches of two; of equal windows the first counts; four days and an hour are four days.
    #[test]
    fn stretches_end_where_plans_begin() {
        let demand: Vec<u64> = (0..20).map(|at| [5, 9, 9][at % 3]).collect();
        let found: Vec<_> = stretches(&demand).iter().map(|of| (of.windows, of.peak, of.demand)).collect();
        assert_eq!(found.len(), 10);
        assert_eq!((found[0], found[9]), (((0, 2), 1, 9), ((18, 20), 19, 9)));
        let days = stretches(&vec![1; 4 * DAY + 60]);
        assert_eq!(days.iter().map(|of| of.windows.0).collect::<Vec<_>>(), [60, 1500, 2940, 4380]);
        assert_eq!(stretches(&[7; 5]).len(), 5);
    }
}
