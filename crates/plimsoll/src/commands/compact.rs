//! `plimsoll compact`: one beat of upkeep now, and what it did to each table.
//!
//! What `serve` does by the clock, for those who run no server or do not want to wait: old days leave,
//! small files become large ones, and what no reader needs any more is removed. How each is done is left
//! to the crates `profile` and `lake`. Invariant: killed at any instant, the lake holds the same rows.

use std::{collections::BTreeMap, process::ExitCode};

use indicatif::{HumanBytes, HumanCount};
use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use plimsoll_lake::{Lake, Table, Vacuum};
use plimsoll_plan::Span;
use plimsoll_profile::{Pins, SessionFactory, Upkeep, pins, upkeep};
use serde::Serialize;

use crate::{cli::Format, failure::Failure, open, output, progress::Progress, settings::Settings};

/// Options of `compact`.
#[derive(Debug, clap::Args)]
pub(crate) struct Compact {
    /// Only says what would be done.
    #[arg(long)]
    dry_run: bool,
    /// Keeps the rows of a table for so long, as in spans=400d, whatever [retention] says; may be given
    /// several times.
    #[arg(long, value_name = "TABLE=AGE")]
    retain: Vec<String>,
    /// How long past versions stay readable, whatever [upkeep] keep_versions says; queries that run longer
    /// fail.
    #[arg(long, value_name = "AGE")]
    keep_versions: Option<Span>,
}

/// What was done to a table, or would be.
#[derive(Debug, Default, Serialize)]
struct Done {
    table: String,
    files_before: usize,
    files_after: usize,
    bytes_before: u64,
    bytes_after: u64,
    rows: u64,
    /// Rows that were too old.
    rows_expired: u64,
    /// Small files, and what they became.
    files_merged: usize,
    files_merged_into: usize,
    /// Old files, and the bytes that this gave back.
    files_removed: usize,
    bytes_removed: u64,
    log_entries_removed: usize,
    /// Why the rest was left.
    failure: Option<String>,
}

impl Compact {
    pub(crate) async fn run(&self, settings: &Settings, format: Format) -> Result<ExitCode, Failure> {
        let options = self.options(settings)?;
        let lake =
            if self.dry_run { open::existing_lake(settings).await? } else { open::lake(settings).await? };
        let sessions = open::sessions(settings)?;
        let progress = Progress::spinner();
        let done = if self.dry_run {
            planned(&lake, &sessions, &options).await?
        } else {
            let beat = tend(&lake, &sessions, &options, &progress).await?;
            beat.into_values().collect()
        };
        progress.finish();
        match format {
            Format::Table => self.tell(&done)?,
            _ => output::list(&done, format)?,
        }
        match done.iter().find_map(|table| Some((&table.table, table.failure.as_ref()?))) {
            None => Ok(ExitCode::SUCCESS),
            Some((table, failure)) => Err(Failure::internal(format!("table {table} is not done: {failure}"))),
        }
    }

    /// What the settings say, and the command line over it.
    fn options(&self, settings: &Settings) -> Result<Upkeep, Failure> {
        let mut options = open::upkeep(settings);
        for text in &self.retain {
            let pair = text.split_once('=').map(|(table, age)| (table, age.parse::<Span>()));
            match pair {
                Some((table, Ok(age))) => {
                    options.retention.insert(table.to_owned(), age.duration());
                }
                Some((_, Err(why))) => return Err(Failure::input(format!("--retain {text}: {why}"))),
                None => {
                    return Err(Failure::input(format!(
                        "--retain {text}: write TABLE=AGE, as in spans=400d"
                    )));
                }
            }
        }
        if let Some(age) = self.keep_versions {
            options.keep_versions = age.duration();
        }
        Ok(options)
    }

    fn tell(&self, done: &[Done]) -> Result<(), Failure> {
        output::line(&format!(
            "{:<24} {:>15} {:>24} {:>13} {:>9} {:>9} {:>9}",
            "table", "files", "bytes", "rows", "expired", "merged", "removed"
        ))?;
        for table in done {
            output::line(&format!(
                "{:<24} {:>15} {:>24} {:>13} {:>9} {:>9} {:>9}",
                table.table,
                change(table.files_before, table.files_after, |n| HumanCount(n as u64).to_string()),
                change(table.bytes_before, table.bytes_after, |n| HumanBytes(n).to_string()),
                HumanCount(table.rows).to_string(),
                HumanCount(table.rows_expired).to_string(),
                table.files_merged,
                table.files_removed,
            ))?;
        }
        let back: u64 = done.iter().map(|table| table.bytes_removed).sum();
        let (would, removed) =
            if self.dry_run { ("would be ", "nothing was changed") } else { ("were ", "done") };
        output::line(&format!("{} of old files {would}removed; {removed}", HumanBytes(back)))
    }
}

/// `1,024 -> 12`, or one number where nothing changed.
fn change<T: PartialEq + Copy>(before: T, after: T, show: impl Fn(T) -> String) -> String {
    if before == after { show(after) } else { format!("{} -> {}", show(before), show(after)) }
}

/// Does the beat.
async fn tend(
    lake: &Lake,
    sessions: &SessionFactory,
    options: &Upkeep,
    progress: &Progress,
) -> Result<BTreeMap<String, Done>, Failure> {
    let mut done = BTreeMap::new();
    for table in tables(lake).await? {
        let before = table.snapshot().await?;
        let name = table.schema().name.clone();
        let of_table = Done {
            table: name.clone(),
            files_before: before.files().len(),
            bytes_before: before.files().iter().map(|file| file.size).sum(),
            ..Done::default()
        };
        done.insert(name, of_table);
    }
    let report = upkeep(lake, sessions, options, Timestamp::now(), &|table| progress.say(table)).await?;
    for (name, did) in report.tables {
        let Some(of_table) = done.get_mut(&name) else { continue };
        of_table.rows_expired = did.retained.rows;
        (of_table.files_merged, of_table.files_merged_into) = (did.compacted.from, did.compacted.into);
        (of_table.files_removed, of_table.bytes_removed) = (did.vacuumed.files, did.vacuumed.bytes);
        of_table.log_entries_removed = did.vacuumed.log_entries;
        of_table.failure = did.failure.map(|failure| failure.to_string());
    }
    for table in tables(lake).await? {
        let Some(of_table) = done.get_mut(&table.schema().name) else { continue };
        let after = table.snapshot().await?;
        (of_table.files_after, of_table.rows) = (after.files().len(), after.rows());
        of_table.bytes_after = after.files().iter().map(|file| file.size).sum();
    }
    Ok(done)
}

/// What a beat would do, as far as that can be known: what is merged once may be merged again.
async fn planned(lake: &Lake, sessions: &SessionFactory, options: &Upkeep) -> Result<Vec<Done>, Failure> {
    let pins = pins(lake, sessions, options.keep_versions).await?;
    let mut done = Vec::new();
    for table in tables(lake).await? {
        done.push(planned_of(&table, options, &pins).await?);
    }
    Ok(done)
}

async fn planned_of(table: &Table, options: &Upkeep, pins: &Pins) -> Result<Done, Failure> {
    let name = &table.schema().name;
    let now = table.snapshot().await?;
    let bytes = now.files().iter().map(|file| file.size).sum();
    let merged = table.compaction_plan(&options.compaction).await?;
    let vacuum = Vacuum {
        retention: options.keep_versions,
        pinned: pins.versions(name),
        dry_run: true,
        ..Vacuum::default()
    };
    let vacuumed = table.vacuum(&vacuum).await?;
    // Days are written so that their order as texts is theirs.
    let first_kept = options.retention.get(name).map(|age| {
        let age = SignedDuration::try_from(*age).unwrap_or(SignedDuration::MAX);
        let then = Timestamp::now().checked_sub(age).unwrap_or(Timestamp::MIN);
        then.to_zoned_datetime(TimeZone::UTC).date().to_string()
    });
    let day = table.schema().partition_by.first();
    let is_old = |values: &BTreeMap<String, Option<String>>| {
        let day = day.and_then(|day| values.get(day)?.as_ref());
        first_kept.as_ref().zip(day).is_some_and(|(first, day)| day < first)
    };
    Ok(Done {
        table: name.clone(),
        files_before: now.files().len(),
        files_after: now.files().len(),
        bytes_before: bytes,
        bytes_after: bytes,
        rows: now.rows(),
        rows_expired: now
            .files()
            .iter()
            .filter(|file| is_old(&file.partition_values))
            .map(|file| file.rows)
            .sum(),
        files_merged: merged.iter().map(|group| group.files).sum(),
        files_merged_into: merged.len(),
        files_removed: vacuumed.files,
        bytes_removed: vacuumed.bytes,
        log_entries_removed: vacuumed.log_entries,
        failure: None,
    })
}

/// The tables that there are.
async fn tables(lake: &Lake) -> Result<Vec<Table>, Failure> {
    let mut tables = Vec::new();
    for described in lake.schemas().iter() {
        tables.extend(lake.existing(&described.name).await?);
    }
    Ok(tables)
}
