//! Upkeep: one beat of it over all tables.
//!
//! Days that are too old leave, small files become large ones, and what no reader needs any more is
//! removed. How each is done is the lake's; here is what it must know of jobs and readers. When a beat is
//! due is left to the caller. Invariants: what jobs have not read yet neither expires nor is merged with
//! what they have, and nothing is removed that a row of `snapshots` still pins, those of rounds that finish during the beat
//! included. A table that fails, or that a round rewrites meanwhile, is left to the next beat and holds up
//! no other.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp, civil::Date, tz::TimeZone};
use plimsoll_lake::{
    Compacted, Compaction, DataFile, Error as LakeError, Lake, Retained, Table, Vacuum, Vacuumed,
};

use crate::{
    error::ProfileError,
    pins::{Pins, pins},
    round::RECEIVED,
    session::SessionFactory,
    touched::{receipt, start_day},
    windows::day_date,
};

/// How long ago the last row of a day was received for its files to be merged to the end.
const CLOSED_AFTER: Duration = Duration::from_secs(60 * 60);

/// What a beat of upkeep does.
#[derive(Debug, Clone, Default)]
pub struct Upkeep {
    /// How files are merged; what jobs have read, and which days are closed, is found by the beat.
    pub compaction: Compaction,
    /// How long the rows of a table are kept: spans by their receipt, others by their start. Those of a
    /// table that is not named are kept for ever.
    pub retention: BTreeMap<String, Duration>,
    /// How long what was replaced can still be read: longer than any query and any write takes.
    pub keep_versions: Duration,
}

/// What a beat did.
#[derive(Debug, Default)]
pub struct UpkeepReport {
    /// Every table that there is, by name.
    pub tables: BTreeMap<String, TableUpkeep>,
}

/// What a beat did to a table.
#[derive(Debug, Default)]
pub struct TableUpkeep {
    /// What expired.
    pub retained: Retained,
    /// First day that would have expired had jobs read its rows.
    pub held_back: Option<Date>,
    /// What was merged.
    pub compacted: Compacted,
    /// What was removed.
    pub vacuumed: Vacuumed,
    /// Why the rest was left to the next beat. A conflict means that another rewrite was first.
    pub failure: Option<LakeError>,
}

/// Does one beat; `now` is what ages are counted back from. `progress` is told of each table.
///
/// # Errors
/// A retention for a table that there cannot be, or a table `snapshots` that cannot be read.
#[tracing::instrument(name = "upkeep", skip_all)]
pub async fn upkeep(
    lake: &Lake,
    factory: &SessionFactory,
    options: &Upkeep,
    now: Timestamp,
    progress: &(dyn Fn(&str) + Sync),
) -> Result<UpkeepReport, ProfileError> {
    Beat { lake, factory, options, now, dry_run: false }.run(progress).await
}

/// What a beat would do, as far as it can be known before: what is merged may be merged again, and what
/// it takes the place of may then be removed. Changes nothing.
///
/// # Errors
/// As [`upkeep`].
pub async fn plan_upkeep(
    lake: &Lake,
    factory: &SessionFactory,
    options: &Upkeep,
    now: Timestamp,
) -> Result<UpkeepReport, ProfileError> {
    Beat { lake, factory, options, now, dry_run: true }.run(&|_| ()).await
}

/// One beat.
struct Beat<'a> {
    lake: &'a Lake,
    factory: &'a SessionFactory,
    options: &'a Upkeep,
    now: Timestamp,
    dry_run: bool,
}

impl Beat<'_> {
    async fn run(&self, progress: &(dyn Fn(&str) + Sync)) -> Result<UpkeepReport, ProfileError> {
        let names: Vec<&str> = self.lake.schemas().iter().map(|table| table.name.as_str()).collect();
        if let Some(name) = self.options.retention.keys().find(|name| !names.contains(&name.as_str())) {
            return Err(LakeError::UnknownTable { name: name.clone(), known: names.join(", ") }.into());
        }
        let mut tables = Vec::new();
        let pins = self.pins().await?;
        for name in names {
            progress(name);
            let mut done = TableUpkeep::default();
            let table = match self.lake.existing(name).await {
                Ok(None) => continue,
                Ok(Some(table)) => {
                    done.failure = self.merge(&table, pins.read(name), &mut done).await.err();
                    Some(table)
                }
                Err(error) => {
                    done.failure = Some(error);
                    None
                }
            };
            tables.push((name, table, done));
        }
        // Rounds that finished meanwhile pin versions too.
        let pins = self.pins().await?;
        let mut report = UpkeepReport::default();
        for (name, table, mut done) in tables {
            if let Some(table) = table
                && let Err(error) = self.vacuum(&table, &pins, &mut done).await
            {
                done.failure = done.failure.or(Some(error));
            }
            match &done.failure {
                Some(error) if error.is_conflict() => {
                    tracing::info!(table = name, %error, "left to the next beat");
                }
                Some(error) => tracing::warn!(table = name, %error, "upkeep failed"),
                None => {}
            }
            report.tables.insert(name.to_owned(), done);
        }
        Ok(report)
    }

    async fn pins(&self) -> Result<Pins, ProfileError> {
        pins(self.lake, self.factory, self.options.keep_versions).await
    }

    /// Lets days expire and merges files; jobs have `read` this version.
    async fn merge(&self, table: &Table, read: Option<i64>, done: &mut TableUpkeep) -> Result<(), LakeError> {
        let name = table.schema().name.as_str();
        if let Some(age) = self.options.retention.get(name) {
            let mut first = day_before(self.now, *age);
            if let Some(unread) = unread_from(table, read).await?
                && unread < first
            {
                done.held_back = Some(unread);
                first = unread;
            }
            done.retained =
                if self.dry_run { expiring(table, first).await? } else { table.retain(first).await? };
        }
        let compaction = Compaction {
            jobs_have_read: read.filter(|_| is_received(name)),
            closed_before: Some(day_before(self.now, CLOSED_AFTER)),
            ..self.options.compaction.clone()
        };
        if !self.dry_run {
            done.compacted = table.compact(&compaction).await?;
            return Ok(());
        }
        for step in table.compaction_plan(&compaction).await? {
            done.compacted.from += step.files;
            done.compacted.bytes_from += step.bytes;
            done.compacted.into += 1;
        }
        Ok(())
    }

    /// Removes what no reader needs any more.
    async fn vacuum(&self, table: &Table, pins: &Pins, done: &mut TableUpkeep) -> Result<(), LakeError> {
        let vacuum = Vacuum {
            retention: self.options.keep_versions,
            pinned: pins.versions(&table.schema().name),
            dry_run: self.dry_run,
            ..Vacuum::default()
        };
        done.vacuumed = table.vacuum(&vacuum).await?;
        Ok(())
    }
}

/// What of a table is of days before this one.
async fn expiring(table: &Table, first: Date) -> Result<Retained, LakeError> {
    let now = table.snapshot().await?;
    let day = |file: &DataFile| receipt(file).or_else(|| start_day(file)).map(day_date);
    let mut expiring = Retained::default();
    for file in now.files().iter().filter(|file| day(file).is_some_and(|day| day < first)) {
        expiring.files += 1;
        expiring.rows += file.rows;
        expiring.bytes += file.size;
    }
    Ok(expiring)
}

fn is_received(table: &str) -> bool {
    RECEIVED.contains(&table)
}

/// The UTC day that lies an age back.
fn day_before(now: Timestamp, age: Duration) -> Date {
    let age = SignedDuration::try_from(age).unwrap_or(SignedDuration::MAX);
    now.checked_sub(age).unwrap_or(Timestamp::MIN).to_zoned_datetime(TimeZone::UTC).date()
}

/// First day of receipt of which jobs have not read all; none where they have, or where a table is not
/// for them to read.
async fn unread_from(table: &Table, read: Option<i64>) -> Result<Option<Date>, LakeError> {
    if !is_received(&table.schema().name) {
        return Ok(None);
    }
    let now = table.snapshot().await?;
    let files = match read {
        Some(version) => table.added_since(version, &now).await?,
        None => now.files().to_vec(),
    };
    Ok(files.iter().filter_map(receipt).min().map(day_date))
}
