//! Telemetry of a company that does not exist: a scenario file in, OTLP trace requests out.
//!
//! A scenario says which workflows a company runs, when, how large their calls are and what goes
//! wrong; [`Scenario::generate`] plays it against the limits of its pools and yields what the
//! services' SDKs would have exported, so that throttling, parked runs and spill-over follow from
//! the numbers in the file. Sending the requests anywhere is the caller's.
//!
//! Invariants: the same file, options and seed give the same bytes; memory is bounded by the runs in
//! flight; no prompt, completion, tool argument or result is ever made.

mod demo;
mod file;
mod random;
mod sim;
mod telemetry;

pub use demo::{DEMO_LEDGER, DEMO_PLAN, DEMO_PLIMSOLL, INSURER};
pub use file::{Scenario, ScenarioError};
pub use sim::{Generator, Options};
