//! The planning worksheet: classes of requests at P50, P95 and P99 against scenarios, in one table.
//!
//! [`Worksheet`] is the file; [`Worksheet::lines`] the table, one line for each scenario, pool (or stage)
//! and percentile. What a pool needs is worked out by [`crate::size_pool`].

mod file;
mod lines;
mod spread;
mod table;

pub use file::{Class, PoolTerms, Reservation, Scenario, Stage, Worksheet};
pub use lines::WorksheetLine;
pub use spread::{PERCENTILES, Spread};
pub use table::worksheet_table;
