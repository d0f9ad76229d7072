//! The journal: what was received, durable before it is acknowledged.
//!
//! A directory of numbered segment files. One thread writes them: it gathers the requests that are
//! waiting, writes each as one record, makes them durable with a single `fdatasync`, and only then
//! tells their senders. Records hold the bytes as they came, so a decoder of a later version can
//! still read them. What the lake has stored is released, and whole segments are deleted.
//!
//! The journal knows nothing of spans or tables (only [`unflushed`] asks the lake how far it came); it leaves to [`crate::Ingest`] what to keep, what to
//! release and what to do with a record that is replayed.
//!
//! Invariant: a record whose sender was told `Ok` is found by every later [`Journal::replay`] until it
//! is released, whatever kills the process and whatever else in the directory is damaged.

mod ages;
mod directory;
mod disk;
mod error;
mod log;
mod node;
mod record;
mod replay;
mod scan;
mod segment;
mod unflushed;
mod writer;

pub use disk::{Disk, DiskFile, LocalDisk};
pub use error::{AppendError, JournalError};
pub use log::{Journal, JournalOptions, Opened};
pub use record::{Entry, Record};
pub use replay::{Damage, Replay, Replayed};
pub use unflushed::unflushed;
