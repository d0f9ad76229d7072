//! `plimsoll compact`: one beat of upkeep now, and what it did to each table.
//!
//! What `serve` does by the clock, for those who run no server or do not want to wait: old days leave,
//! small files become large ones, and what no reader needs any more is removed. How each is done is left
//! to the crates `profile` and `lake`. Invariant: killed at any instant, the lake holds the same rows.

use std::{collections::BTreeMap, process::ExitCode};

use indicatif::{HumanBytes, HumanCount};
use jiff::{Timestamp, civil::Date};
use plimsoll_lake::{Lake, Snapshot};
use plimsoll_plan::Span;
use plimsoll_profile::{SessionFactory, Upkeep, plan_upkeep, upkeep};
use serde::Serialize;

use crate::{cli::Format, failure::Failure, open, output, progress::Progress, settings::Settings};

/// Options of `compact`.
#[derive(Debug, clap::Args)]
pub(crate) struct Compact {
    /// Only says what would be done.
    #[arg(long)]
    dry_run: bool,
    /// Keeps the rows of a table for so long, as in spans=400d, whatever `[retention]` says; may be given
    /// several times.
    #[arg(long, value_name = "TABLE=AGE")]
    retain: Vec<String>,
    /// How long past versions stay readable, whatever `[upkeep]` keep_versions says; queries that run longer
    /// fail.
    #[arg(long, value_name = "AGE")]
    keep_versions: Option<Span>,
}

/// What was done to a table, or would be.
#[derive(Debug, Serialize)]
struct Done {
    table: String,
    files_before: usize,
    files_after: usize,
    bytes_before: u64,
    bytes_after: u64,
    rows: u64,
    /// Rows that were too old.
    rows_expired: u64,
    /// First day that would have expired too, had jobs read all its rows.
    held_back: Option<Date>,
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
        let done = beat(&lake, &sessions, &options, self.dry_run, &progress).await?;
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

/// Does the beat, or only plans it, and says what became of each table.
async fn beat(
    lake: &Lake,
    sessions: &SessionFactory,
    options: &Upkeep,
    dry_run: bool,
    progress: &Progress,
) -> Result<Vec<Done>, Failure> {
    let before = snapshots(lake).await;
    let now = Timestamp::now();
    let report = if dry_run {
        plan_upkeep(lake, sessions, options, now).await?
    } else {
        upkeep(lake, sessions, options, now, &|table| progress.say(table)).await?
    };
    let after = snapshots(lake).await;
    let bytes = |table: &Snapshot| table.files().iter().map(|file| file.size).sum();
    let tables = report.tables.into_iter().map(|(table, did)| {
        let (before, after) = (before.get(&table), after.get(&table));
        Done {
            files_before: before.map_or(0, |table| table.files().len()),
            files_after: after.map_or(0, |table| table.files().len()),
            bytes_before: before.map_or(0, bytes),
            bytes_after: after.map_or(0, bytes),
            rows: after.map_or(0, Snapshot::rows),
            rows_expired: did.retained.rows,
            held_back: did.held_back,
            files_merged: did.compacted.from,
            files_merged_into: did.compacted.into,
            files_removed: did.vacuumed.files,
            bytes_removed: did.vacuumed.bytes,
            log_entries_removed: did.vacuumed.log_entries,
            failure: did.failure.map(|failure| failure.to_string()),
            table,
        }
    });
    Ok(tables.collect())
}

/// The tables that can be read, as they are now.
async fn snapshots(lake: &Lake) -> BTreeMap<String, Snapshot> {
    let mut snapshots = BTreeMap::new();
    for described in lake.schemas().iter() {
        // One that cannot be read is told of by the beat.
        if let Ok(Some(table)) = lake.existing(&described.name).await
            && let Ok(snapshot) = table.snapshot().await
        {
            snapshots.insert(described.name.clone(), snapshot);
        }
    }
    snapshots
}
