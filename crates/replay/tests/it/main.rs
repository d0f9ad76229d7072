//! Replay from outside: closed forms, facts, laws, policies, needs.

#![expect(clippy::print_stdout, reason = "tests say what they expected and measured")]

mod arrive;
mod closed;
mod facts;
mod laws;
mod needs;
mod policy;
mod support;
