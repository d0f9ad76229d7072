//! A trace from end to end: ten plans by each method, and their scores.
//!
//! The invariant: a plan is handed the calls before its origin and nothing else; threads change nothing.

use std::thread;

use crate::error::BacktestError;
use crate::need::{Needs, needs};
use crate::score::{Issued, Method, Score, score};
use crate::trace::Trace;

/// Plans from every origin of a trace and holds the plans against the rest, on so many threads: replay
/// first, then P95.
///
/// # Errors
/// [`BacktestError`] where the trace is too short, or draws nothing.
pub fn backtest(trace: &Trace, threads: usize) -> Result<Vec<Score>, BacktestError> {
    let origins = trace.period.origins(&trace.name)?;
    if trace.demand().iter().all(|demand| *demand == 0) {
        let (trace, dimension) = (trace.name.clone(), trace.quota.dimension.clone());
        return Err(BacktestError::NoDemand { trace, dimension });
    }
    let each = origins.len().div_ceil(threads.max(1));
    let made: Vec<Result<Needs, BacktestError>> = thread::scope(|scope| {
        let plan = |origin: &usize| needs(trace, *origin);
        let parts: Vec<_> = origins
            .chunks(each)
            .map(|part| scope.spawn(move || part.iter().map(plan).collect::<Vec<_>>()))
            .collect();
        let joined = parts
            .into_iter()
            .map(|part| part.join().unwrap_or_else(|panicked| std::panic::resume_unwind(panicked)));
        joined.flatten().collect()
    });
    let made = made.into_iter().collect::<Result<Vec<_>, _>>()?;
    let issued = |of: fn(&Needs) -> u64| -> Vec<Issued> {
        origins.iter().zip(&made).map(|(origin, needs)| Issued { origin: *origin, need: of(needs) }).collect()
    };
    let (replay, p95) = (issued(|needs| needs.replay), issued(|needs| needs.p95));
    let score_replay = || score(trace, Method::Replay, &replay);
    let (replay, p95) = thread::scope(|scope| {
        let replay = (threads > 1).then(|| scope.spawn(score_replay));
        let p95 = score(trace, Method::P95, &p95);
        let joined =
            replay.map(|replay| replay.join().unwrap_or_else(|panicked| std::panic::resume_unwind(panicked)));
        (joined.unwrap_or_else(score_replay), p95)
    });
    Ok(vec![replay?, p95?])
}
