//! Why a file can't be ingested. A bad line is not such a reason: it is counted and reported.

use std::io;

/// A file that can't be ingested, or not further. What was committed before stays; a second ingest
/// goes on from there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// It can't be opened or read.
    #[error("cannot read {name}: {source}")]
    Read {
        /// The file, or `standard input`.
        name: String,
        /// What the system said.
        source: io::Error,
    },
    /// It is not OTLP.
    #[error("{name} is not an OTLP request of traces or logs: {reason}")]
    NotOtlp {
        /// The file.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// One item of it is larger than memory should hold.
    #[error("{name} holds one request of more than {limit} bytes: write it as JSON lines, one batch a line")]
    TooLarge {
        /// The file.
        name: String,
        /// The limit in bytes.
        limit: usize,
    },
    /// No column looks like a timestamp.
    #[error("{name} has no column that looks like a timestamp among {columns}: map one to `timestamp`")]
    NoTimestamp {
        /// The file.
        name: String,
        /// The columns it has.
        columns: String,
    },
    /// A column was mapped that the file hasn't.
    #[error("{name} has no column `{column}`, which is mapped to `{field}`: it has {columns}")]
    NoColumn {
        /// The file.
        name: String,
        /// The column asked for.
        column: String,
        /// The field it should fill.
        field: String,
        /// The columns it has.
        columns: String,
    },
    /// Timestamps count from an instant that the file doesn't tell.
    #[error(
        "{name} has timestamps like {value}, which count from an instant that it does not tell: give the start"
    )]
    RelativeTime {
        /// The file.
        name: String,
        /// The first such value.
        value: String,
    },
    /// Another process ingests the same content.
    #[error("{name} is being ingested by another process at the same time: wait for it and try again")]
    Concurrent {
        /// The file.
        name: String,
    },
    /// The lake failed.
    #[error(transparent)]
    Lake(#[from] plimsoll_lake::Error),
}
