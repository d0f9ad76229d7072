//! What can go wrong with ingest as a whole; what goes wrong with one request is its sender's answer.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::journal::JournalError;
use crate::kafka::{KafkaLogError, KafkaSourceError};

/// Ingest could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IngestError {
    /// The journal can't be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The topic in the journal's place can't be used.
    #[error(transparent)]
    Log(#[from] KafkaLogError),
    /// Without a lake to write, the journal on the disk would only grow.
    #[error(
        "a process that writes no lake needs a Kafka topic as its journal: name one, or give it the role write"
    )]
    NothingWrites,
    /// Records on the disk that a process without a lake will never bring there.
    #[error(
        "the journal {0} holds spans that are in no lake yet, and this process writes none: start it once with the role write"
    )]
    LeftInJournal(PathBuf),
    /// The lake can't be used.
    #[error(transparent)]
    Lake(#[from] plimsoll_lake::Error),
    /// Kafka can't be read as it is set up.
    #[error(transparent)]
    Kafka(#[from] KafkaSourceError),
    /// Dead letters have no place.
    #[error("dead letters: {0}")]
    DeadLetters(String),
    /// An address that other machines can reach, where that was not allowed.
    #[error(
        "{0} can be reached from other machines and asks nobody who they are: listen on 127.0.0.1, or say otlp.allow_remote = true (--allow-remote) where the network itself keeps others out"
    )]
    NotLoopback(SocketAddr),
    /// The port is taken, or the address is not this machine's.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
}

/// A flush that did not reach the lake. Its spans stay in the journal and are tried again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the lake took nothing: {0}; what was acknowledged stays in the journal")]
pub struct FlushError(pub(crate) String);
