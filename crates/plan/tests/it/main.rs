//! The planner's tests, one binary.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod bad_input;
mod broker;
mod degradation;
mod diff;
mod due;
mod filing;
mod ledger;
mod limits;
mod plan;
mod properties;
mod rates;
mod replay;
mod reservations;
mod size;
mod spec;
mod spend;
mod units;
mod windows;
mod worksheet;
mod world;
