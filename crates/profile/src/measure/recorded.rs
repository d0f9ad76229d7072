//! A stretch of time as it was: every run that was under way in it, whole.
//!
//! The invariant: nothing is sampled. A stretch too large to hold in memory is refused, with its size.

use arrow::{array::AsArray, datatypes::Int64Type};
use jiff::{SignedDuration, Timestamp};
use plimsoll_plan::SampledRun;

use super::Queries;
use crate::{
    error::ProfileError,
    session::{Reader, SessionFactory},
};

/// Longest run that is looked for: one that began earlier is left out.
const LONGEST: SignedDuration = SignedDuration::from_hours(24);

/// Most calls of a stretch: some 300 MB while they are read.
const MOST_CALLS: u64 = 500_000;

/// The runs of a stretch, or how many calls they make where that is too many.
#[derive(Debug, Clone, PartialEq)]
pub enum Recording {
    /// Every run that was under way.
    Runs(Vec<SampledRun>),
    /// More calls than are held in memory.
    TooLarge {
        /// Calls of the stretch.
        calls: u64,
        /// Most that are taken.
        most: u64,
    },
}

/// Reads every run that was under way in a stretch of time.
///
/// # Errors
/// A query that fails.
#[tracing::instrument(skip_all)]
pub async fn recorded(
    reader: &Reader,
    factory: &SessionFactory,
    stretch: (Timestamp, Timestamp),
) -> Result<Recording, ProfileError> {
    let earliest = stretch.0.checked_sub(LONGEST).unwrap_or(Timestamp::MIN);
    let queries = Queries::new(reader, factory, stretch, earliest);
    let runs = queries.batch("recorded_runs").await?;
    let counted = runs.column_by_name("calls").and_then(|calls| calls.as_primitive_opt::<Int64Type>());
    let calls: i64 = counted.map_or(0, |calls| calls.iter().flatten().sum());
    let calls = u64::try_from(calls).unwrap_or(0);
    if calls > MOST_CALLS {
        return Ok(Recording::TooLarge { calls, most: MOST_CALLS });
    }
    reader.register_rows("chosen_runs", runs)?;
    Ok(Recording::Runs(queries.chosen_calls().await?))
}
