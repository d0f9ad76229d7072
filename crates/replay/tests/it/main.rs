//! Replay from outside: closed forms, facts, laws, policies, needs.

mod arrive;
mod closed;
mod facts;
mod laws;
mod needs;
mod policy;
mod support;
