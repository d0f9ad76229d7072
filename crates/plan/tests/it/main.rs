//! The planner's tests, one binary.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod plan;
mod properties;
mod replay;
mod size;
mod spec;
mod units;
mod windows;
mod worksheet;
mod world;
