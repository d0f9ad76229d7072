//! Spans, and the calls that log records tell of, into the lake: from the wire ([`Ingest`]) and from files
//! ([`ingest_file`]).
//!
//! A request is decoded, journaled and acknowledged; the flusher brings what is durable into the
//! lake. Decoding is `otlp`'s, tables are `lake`'s; when jobs run is `serve`'s, which is told of each
//! flush.
//!
//! Invariants: what was acknowledged is in the lake or in the journal, once; memory is bounded; no
//! request, file or disk can stop the process.

mod accept;
mod batch;
mod budget;
mod config;
mod content_type;
mod counts;
pub mod dead_letter;
mod error;
pub mod file;
mod flush;
mod forward;
mod inflate;
mod ingest;
pub mod journal;
mod journal_lane;
pub mod kafka;
mod read_back;
mod receive;
mod rows;
mod signal;
mod tables;

pub use config::{FlushOptions, IngestConfig, Limits, LogKind};
pub use counts::Counts;
pub use dead_letter::{DeadLetterOptions, DeadLetterPlace};
pub use error::{FlushError, IngestError};
pub use file::{FileError, FileInput, FileOptions, FileReport, explain_file, ingest_file};
pub use flush::Flushed;
pub use inflate::Coding;
pub use ingest::{Ingest, Shutdown};
pub use kafka::{KafkaConnection, KafkaLog, KafkaSource, KafkaStatus};
pub use signal::Kept;
