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
    Ok(vec![
        score(trace, Method::Replay, &issued(|needs| needs.replay))?,
        score(trace, Method::P95, &issued(|needs| needs.p95))?,
    ])
}
