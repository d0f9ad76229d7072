//! The command, run as people run it.
#![expect(clippy::unwrap_used, reason = "a test that can't go on should say so and stop")]

mod catalog;
mod explain;
mod support;
