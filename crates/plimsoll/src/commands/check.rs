//! `plimsoll check`: whatever in a lake contradicts itself, and what to do about it.
//!
//! What is wrong with logs and files is found by the crate `lake`, what tables say against each other by
//! the queries of `sql/checks`; here they become one list. Invariant: nothing is changed and nothing is
//! made, so that it runs on a copy, on a read-only disk and beside writers.

use std::{process::ExitCode, time::Duration};

use plimsoll_lake::{Finding, Kind, Lake, Severity, Verification};
use plimsoll_profile::{Pins, Reader, SessionFactory, is_made_by_jobs, pins};
use serde::Serialize;

use crate::{cli::Format, damage, failure::Failure, open, output, progress::Progress, settings::Settings};

/// Findings that are shown before the list is cut.
const SHOWN: usize = 40;

/// Options of `check`.
#[derive(Debug, clap::Args)]
pub(crate) struct Check {
    /// Reads every row of every file, not only what files say of themselves.
    #[arg(long)]
    deep: bool,
    /// Shows every finding, not only the first forty.
    #[arg(long)]
    all: bool,
}

/// One thing that is not as it should be.
#[derive(Debug, Serialize)]
struct Found {
    /// `fault` or `note`.
    severity: &'static str,
    /// Table; none where a check is about several.
    table: Option<String>,
    /// File in the table's folder, or below `sql/`.
    file: Option<String>,
    /// What it is, for scripts.
    kind: &'static str,
    /// What is wrong.
    what: String,
    /// What to do about it.
    what_to_do: String,
}

impl Check {
    pub(crate) async fn run(&self, settings: &Settings, format: Format) -> Result<ExitCode, Failure> {
        let lake = open::existing_lake(settings).await?;
        let sessions = open::sessions(settings)?;
        let progress = Progress::spinner();
        let mut found = self.of_files(&lake, &sessions, &progress).await?;
        found.extend(of_rows(&lake, &sessions, &progress).await);
        progress.finish();
        let faults = found.iter().filter(|each| each.severity == FAULT).count();
        match format {
            Format::Table => self.tell(&found)?,
            _ => output::list(&found, format)?,
        }
        match faults {
            0 => Ok(ExitCode::SUCCESS),
            1 => Err(Failure::damaged("1 fault found in the lake")),
            more => Err(Failure::damaged(format!("{more} faults found in the lake"))),
        }
    }

    /// What is wrong with the logs and files of the tables.
    async fn of_files(
        &self,
        lake: &Lake,
        sessions: &SessionFactory,
        progress: &Progress,
    ) -> Result<Vec<Found>, Failure> {
        let mut found = Vec::new();
        // Only the latest round is sure to be readable: what older ones need goes with time.
        let pins = match pins(lake, sessions, Duration::ZERO).await {
            Ok(pins) => pins,
            Err(error) => {
                found.push(Found {
                    severity: FAULT,
                    table: Some("snapshots".to_owned()),
                    file: None,
                    kind: "pin",
                    what: format!("which versions readers need cannot be read: {}", one_line(&error)),
                    what_to_do: "mend what else is wrong with it, then run `plimsoll profile`".to_owned(),
                });
                Pins::default()
            }
        };
        let verification = Verification { deep: self.deep, pinned: damage::pinned(lake, &pins) };
        let say = |at: &plimsoll_lake::Progress| {
            progress.say(&format!("{}: {} of {} files", at.table, at.files, at.of))
        };
        let verified = lake.verify(&verification, &say).await?;
        found.extend(verified.into_iter().map(Found::from));
        Ok(found)
    }

    fn tell(&self, found: &[Found]) -> Result<(), Failure> {
        if found.is_empty() {
            let read = if self.deep { "every row was read" } else { "--deep reads every row" };
            return output::line(&format!("nothing is wrong ({read})"));
        }
        let shown = if self.all { found.len() } else { SHOWN };
        for each in found.iter().take(shown) {
            let place: Vec<&str> = each.table.iter().chain(&each.file).map(String::as_str).collect();
            let place = place.join("/");
            output::line(&format!("{:<5} {place}: {}; {}", each.severity, each.what, each.what_to_do))?;
        }
        match found.len().saturating_sub(shown) {
            0 => Ok(()),
            more => output::line(&format!("{more} more: --all shows them, --format json gives them all")),
        }
    }
}

/// Something is lost or wrong.
const FAULT: &str = "fault";

/// What rows say against each other: the queries of `sql/checks`, which must return none.
async fn of_rows(lake: &Lake, sessions: &SessionFactory, progress: &Progress) -> Vec<Found> {
    let failed = |file: Option<String>, error: &plimsoll_profile::ProfileError| Found {
        severity: FAULT,
        table: None,
        file,
        kind: "check",
        what: format!("it could not be run: {}", one_line(error)),
        what_to_do: "mend what else is wrong, then check again".to_owned(),
    };
    let reader = match Reader::pinned(lake, sessions).await {
        Ok(reader) => reader,
        Err(error) => return vec![failed(Some("sql/checks".to_owned()), &error)],
    };
    let mut found = Vec::new();
    for (name, sql) in sessions.sql().folder("checks") {
        let file = format!("sql/checks/{name}");
        progress.say(&file);
        match reader.query(sql).await {
            Err(error) => found.push(failed(Some(file), &error)),
            Ok(rows) => match rows.iter().map(|batch| batch.num_rows()).sum::<usize>() {
                0 => {}
                rows => found.push(Found {
                    severity: FAULT,
                    table: None,
                    what: format!("{rows} rows contradict it"),
                    what_to_do: "look at them with `plimsoll sql -f`, then run `plimsoll profile --rebuild`"
                        .to_owned(),
                    file: Some(file),
                    kind: "check",
                }),
            },
        }
    }
    found
}

/// What an error says first; engines say more below.
fn one_line(error: &impl ToString) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

impl From<Finding> for Found {
    fn from(mut found: Finding) -> Self {
        let lost = matches!(found.kind, Kind::Missing | Kind::Size | Kind::Damaged | Kind::Rows);
        if lost && is_made_by_jobs(&found.table) {
            found.what_to_do =
                "run `plimsoll profile --rebuild`, which makes its rows anew from the spans that are kept; \
                 for rows of older days restore it from a backup first"
                    .to_owned();
        }
        Self {
            severity: if found.severity == Severity::Fault { FAULT } else { "note" },
            table: Some(found.table),
            file: found.file,
            kind: found.kind.as_str(),
            what: found.what,
            what_to_do: found.what_to_do,
        }
    }
}
