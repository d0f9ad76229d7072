//! Ingest of files: OTLP bodies, the collector's file-exporter lines, dead letters, and request traces as CSV or
//! JSON lines, each of whose rows is a run of one model call.
//!
//! Everything becomes an OTLP request first and is decoded like one, so that a file and the wire give
//! the same rows. A file is known by the SHA-256 of what is in it (decompressed): its commits carry the
//! number of items (lines, records, messages) that they cover, so that a second ingest changes nothing
//! and one that was cut short goes on where it stopped.
//!
//! Invariant: memory is bounded by a chunk and the largest single item, whatever the file's size.

mod bodies;
mod content;
mod error;
mod explain;
mod letters;
mod lines;
mod options;
mod rows;
mod run;
mod span;
mod wire;

pub use error::FileError;
pub use explain::explain_file;
pub use options::{BadItem, FileFormat, FileInput, FileOptions, FileProgress, FileReport};
pub use plimsoll_rows::{Field, TimeUnit};
pub use run::ingest_file;
