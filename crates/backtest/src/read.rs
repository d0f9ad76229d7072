//! Traces as files have them.
//!
//! Texts in, requests out; opening files is left to the command. The invariants: a column is found by
//! the names that `ingest` knows it by; a row that cannot be read is refused with its line, since a
//! demand with gaps would be held against a plan as if it were whole.

mod cache;
mod histogram;
mod servegen;
mod table;

pub use servegen::{ServeGenClient, generate};
pub use table::read_requests;
