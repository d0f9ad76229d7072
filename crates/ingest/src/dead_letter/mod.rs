//! Dead letters: messages and records that gave no rows, or not all, kept whole with where they came from
//! and why, so that they can be ingested after a fix.
//!
//! Whether something is a dead letter is for its reader to say; when the offset or record is released is
//! the flusher's. Invariant: a letter is durable before that.

mod folder;
mod keeper;
mod letter;
mod options;
mod topic;

pub(crate) use keeper::DeadLetters;
pub(crate) use letter::{Letter, Origin, START};
pub use options::{DeadLetterOptions, DeadLetterPlace};
