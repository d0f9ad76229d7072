//! Damaged files as queries meet them: named where one makes a query fail, left out where that is asked
//! for.
//!
//! What is damaged is the lake's to find; `check` lists it all. Invariant: a file is never left out
//! unasked, and what is left out is always said.

use std::{collections::BTreeMap, io::Write as _, time::Duration};

use datafusion::error::DataFusionError;
use plimsoll_lake::{Finding, Lake, Severity, Verification};
use plimsoll_profile::{Pins, ProfileError, Reader, SessionFactory, pins};

use crate::failure::Failure;

/// A reader of the latest round; with `skip`, without the files that are damaged.
///
/// # Errors
/// A lake that cannot be read.
pub(crate) async fn reader(lake: &Lake, sessions: &SessionFactory, skip: bool) -> Result<Reader, Failure> {
    if !skip {
        return match Reader::pinned(lake, sessions).await {
            Ok(reader) => Ok(reader),
            Err(ProfileError::Query { context, source }) => {
                let behind = behind(lake, sessions, &source).await;
                Err(behind.unwrap_or_else(|| ProfileError::Query { context, source }.into()))
            }
            Err(other) => Err(other.into()),
        };
    }
    let damaged = files(lake, sessions).await?;
    let damaged = damaged.into_iter().filter_map(|found| Some((found.table, found.file?))).collect();
    let reader = Reader::pinned_without(lake, sessions, &damaged).await?;
    for left_out in reader.left_out() {
        let (read, of) = (left_out.of - left_out.rows, left_out.of);
        let files = left_out.files.join(", ");
        let _told = writeln!(
            std::io::stderr(),
            "plimsoll: {}: only {read} of {of} rows are read, damaged files are left out: {files}",
            left_out.table
        );
    }
    Ok(reader)
}

/// The damage behind what the engine says, if it is damage: it names the file.
pub(crate) async fn behind(
    lake: &Lake,
    sessions: &SessionFactory,
    error: &DataFusionError,
) -> Option<Failure> {
    use DataFusionError::{ExecutionJoin, External, IoError, ObjectStore, ParquetError};
    // What is wrong with a query is not looked for in files.
    if !matches!(
        error.find_root(),
        ParquetError(_) | ObjectStore(_) | IoError(_) | External(_) | ExecutionJoin(_)
    ) {
        return None;
    }
    let damaged = files(lake, sessions).await.ok()?;
    let first = damaged.first()?;
    let file = first.file.as_deref().unwrap_or_default();
    let more = match damaged.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    Some(Failure::damaged(format!(
        "damaged file {}/{file}{more}: {}; `plimsoll check` says what to do, --skip-damaged reads the rest",
        first.table, first.what
    )))
}

/// Versions that the rows of `snapshots` pin, by table.
pub(crate) fn pinned(lake: &Lake, pins: &Pins) -> BTreeMap<String, Vec<i64>> {
    lake.schemas().iter().map(|table| (table.name.clone(), pins.versions(&table.name))).collect()
}

/// Files that cannot be read, of the tables as they are and as the latest round left them.
async fn files(lake: &Lake, sessions: &SessionFactory) -> Result<Vec<Finding>, Failure> {
    // Where `snapshots` itself is damaged, that is what is found.
    let pinned = match pins(lake, sessions, Duration::ZERO).await {
        Ok(pins) => pinned(lake, &pins),
        Err(_) => BTreeMap::new(),
    };
    let found = lake.verify(&Verification { deep: false, pinned }, &|_| ()).await?;
    Ok(found.into_iter().filter(|found| found.severity == Severity::Fault && found.file.is_some()).collect())
}
