//! The company at work: runs start, ask the pools, wait, fail, park and end.
//!
//! A discrete-event simulation. `starts` says when runs begin, `pool` what a provider admits, `run`
//! takes one run from event to event, and `generator` keeps the clock. How a span is written is
//! `telemetry`'s.
//!
//! Times are nanoseconds since 1970 UTC, as OTLP has them.

mod attempt;
mod bucket;
mod calendar;
mod calling;
mod draw;
mod facts;
mod generator;
mod plan;
mod pool;
mod run;
mod starts;
mod time;
mod tools;
mod world;

pub(crate) use attempt::{Attempt, End, Heard, Purpose};
pub(crate) use facts::{RunFacts, Totals};
pub use generator::{Generator, Options};
pub(crate) use pool::Allowance;
pub(crate) use time::{MILLI, SECOND};
pub(crate) use tools::Execution;
