//! One run's spans in, its rows out.
//!
//! [`assemble_runs`] takes every span received for some traces, in any order and any number of times,
//! parts them into runs and gives the rows of `runs`, `model_calls`, `attempts` and `tool_calls`. It counts like the wire
//! does: a span once, a token once, operations and attempts apart. [`naming`] holds the match rules
//! that give workflows, accounts and pools their names before that; [`quality`] the codes that say
//! what is odd.
//!
//! Pure: no clock, no I/O, no Arrow. What a dialect calls a token or a tool is settled before this
//! crate (`plimsoll-otlp`); what a token costs is settled after it (`plimsoll-catalog`).

mod assemble;
mod call_rows;
mod calls;
mod classify;
mod doubles;
mod explain;
mod failure;
mod forest;
mod intervals;
mod kinds;
pub mod naming;
mod operations;
pub mod quality;
mod rows;
mod run;
mod runs;
mod span;
mod tools;
mod unique;
mod usage;
mod workflow;

pub use assemble::{assemble, assemble_runs};
pub use explain::{Role, Verdict, explain};
pub use kinds::{Kind, Outcome, RetryLayer, Status, UsageSource};
pub use rows::{Assembled, Attempt, ModelCall, Run, ToolCall};
pub use runs::part;
pub use span::{Limits, Span, Tokens};
