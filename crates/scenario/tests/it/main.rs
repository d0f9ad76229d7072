//! The example company, played and looked at.

#![expect(clippy::unwrap_used, reason = "a test may fail loudly")]

mod company;
mod determinism;
mod files;
mod shapes;
mod telemetry;
mod troubles;
