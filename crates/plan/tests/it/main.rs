//! The planner's tests, one binary.
#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod plan;
mod properties;
mod rates;
mod size;
mod spec;
mod windows;
mod world;
