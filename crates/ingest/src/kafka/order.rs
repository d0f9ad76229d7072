//! What the thread that reads Kafka is told by the others.

use std::sync::Arc;

use super::place::Placed;
use super::unread::Unread;

/// An order, or an answer to what the thread asked for.
#[derive(Debug)]
pub(crate) enum Order {
    /// What was read since the last commit is given up: read again from where the tables are, and mark
    /// what is read then by the epoch.
    Rewind {
        /// The mark.
        epoch: u64,
    },
    /// The lake holds sources up to these numbers.
    Stored(Vec<(Arc<str>, u64)>),
    /// Where partitions are to be read from, or why that is not known yet.
    Located {
        /// Which question this answers.
        ticket: u64,
        /// The answer.
        found: Result<Vec<Placed>, String>,
    },
    /// Topics under their names are no longer the ones that are read.
    Recreated(Vec<String>),
    /// The cluster answers.
    Well,
    /// What nobody in the group reads, where that is known to be something.
    Unread(Option<Unread>),
    /// Read nothing more, hand on what was read, and keep the partitions.
    Finish,
    /// Let the partitions go and end.
    End,
}
