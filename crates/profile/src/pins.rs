//! Which versions of the tables must stay readable: those that rows of `snapshots` pin.
//!
//! A query keeps to the row that was the latest when it began, so what is needed is the latest row, and
//! every row that was the latest while queries that may still run began. What is done with the rest is
//! the lake's vacuum. Invariant: the latest row is always among them.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use plimsoll_lake::Lake;

use crate::{
    error::ProfileError,
    session::SessionFactory,
    snapshot::{SnapshotRow, rows_since},
};

/// Rows of `snapshots` that readers may be using.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pins(Vec<SnapshotRow>);

impl Pins {
    /// The versions of a table that must stay readable, ascending.
    pub fn versions(&self, table: &str) -> Vec<i64> {
        let mut versions: Vec<i64> =
            self.0.iter().filter_map(|row| row.versions.get(table).copied()).collect();
        versions.sort_unstable();
        versions.dedup();
        versions
    }

    /// The version of `spans` or `quarantine` that jobs have read; none before the first round.
    pub fn read(&self, table: &str) -> Option<i64> {
        self.0.last()?.versions.get(table).copied()
    }

    /// The rows, oldest first.
    pub fn rows(&self) -> &[SnapshotRow] {
        &self.0
    }
}

/// What queries that began within `age` of now may be reading.
///
/// # Errors
/// A table `snapshots` that cannot be read.
pub async fn pins(lake: &Lake, factory: &SessionFactory, age: Duration) -> Result<Pins, ProfileError> {
    let age = SignedDuration::try_from(age).unwrap_or(SignedDuration::MAX);
    let from = Timestamp::now().checked_sub(age).unwrap_or(Timestamp::MIN);
    Ok(Pins(rows_since(lake, factory, from).await?))
}
