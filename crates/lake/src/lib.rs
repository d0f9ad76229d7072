//! The lake: Plimsoll's tables on local disk or an object store.
//!
//! A [`Lake`] is a folder of Delta tables whose names, columns and units come from
//! `schemas/tables/*.toml` ([`Schemas`]). A [`Table`] writes Parquet files, commits them to the Delta
//! log, and says which files hold its rows at a version ([`Snapshot`]). What is read from those files,
//! and how, is left to the crate `profile`: nothing here knows DataFusion.
//!
//! Invariants:
//! * A reader sees whole commits: a file counts only once the log names it, and the log names it only
//!   once it is durable.
//! * The same transaction (`txn`) is applied once, however often it is offered.
//! * A row is counted once: of two rewrites that started from the same version, the second fails.

mod batch;
mod compact;
mod delta;
mod durable;
mod error;
mod filter;
mod lake;
mod location;
mod log;
mod output;
mod parquet_columns;
mod parquet_file;
mod parquet_read;
mod read;
mod retain;
mod schema;
mod snapshot;
mod stats;
mod table;
mod vacuum;
mod verify;
mod write;

pub use compact::{Compacted, Compaction, Planned};
pub use error::{Error, Result};
pub use filter::Filtered;
pub use lake::Lake;
pub use log::{Change, Listing, LogFile, TableLog};
pub use retain::{RETAINED_FROM_APP, Retained};
pub use schema::{Column, ColumnType, Schemas, TableSchema};
pub use snapshot::{Commit, DataFile, Snapshot};
pub use stats::{ColumnStats, FileStats, Value};
pub use table::{Appended, REWRITE_APP, Table};
pub use vacuum::{Vacuum, Vacuumed};
pub use verify::{Finding, Kind, Progress, Severity, Verification};
pub use write::Order;
