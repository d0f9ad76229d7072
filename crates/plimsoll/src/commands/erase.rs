//! `plimsoll erase`: the rows of a tenant, a user or a session leave every table.
//!
//! Which rows these are, and how they leave, is the crate `profile`'s; here are the command, what it says
//! before and after, and the receipt. Invariant: killed at any instant, the same command goes on where it
//! stopped and ends in the same receipt.

use std::{io::Write as _, process::ExitCode, time::Duration};

use jiff::{SignedDuration, Timestamp};
use plimsoll_ingest::journal::unflushed;
use plimsoll_lake::{Lake, Vacuum, Vacuumed};
use plimsoll_profile::{ErasureStep, Found, SessionFactory, Subject, erase, pins};
use serde_json::json;

use super::erase_receipt::Receipt;
use crate::{cli::Format, failure::Failure, open, output, progress::Progress, settings::Settings};

/// Options of `erase`.
#[derive(Debug, clap::Args)]
pub(crate) struct Erase {
    #[command(flatten)]
    whose: Whose,
    /// Only says what would be removed.
    #[arg(long)]
    dry_run: bool,
    /// Removes the old files at once, not only after `[upkeep]` keep_versions: a query that is reading them
    /// fails and has to be run again.
    #[arg(long)]
    now: bool,
}

/// Whose rows; each may be given several times.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = true)]
struct Whose {
    /// A tenant.
    #[arg(long, value_name = "ID", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    tenant: Vec<String>,
    /// A user.
    #[arg(long, value_name = "ID", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    user: Vec<String>,
    /// A session or conversation.
    #[arg(long, value_name = "ID", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    session: Vec<String>,
}

impl Whose {
    fn subject(&self) -> Subject {
        Subject { tenants: self.tenant.clone(), users: self.user.clone(), sessions: self.session.clone() }
    }
}

impl Erase {
    pub(crate) async fn run(&self, settings: &Settings, format: Format) -> Result<ExitCode, Failure> {
        let subject = self.whose.subject();
        let lake = open::existing_lake(settings).await?;
        let sessions = open::sessions(settings)?;
        let progress = Progress::spinner();
        progress.say("looking for what is theirs");
        let found = subject.find(&lake, &sessions).await?;
        progress.finish();
        if self.dry_run {
            return would(&found, format);
        }
        let held = unflushed(&settings.journal(), &lake).await.map_err(Failure::internal)?;
        before(&found, held, settings)?;
        let mut receipt = Receipt::begin(&lake, &subject).await?;
        receipt.found(&found);
        receipt.store(&lake).await?;

        let progress = Progress::spinner();
        let say = |step: ErasureStep<'_>| match step {
            ErasureStep::Found(_) => progress.say("taking rows out"),
            ErasureStep::Removed { table, rows } => progress.say(&format!("{table}: {rows} rows taken out")),
            ErasureStep::Remaking(what) => progress.say(&format!("making anew: {what}")),
        };
        let report = erase(&lake, &sessions, &subject, &say).await?;
        receipt.erased(&lake, &report).await?;
        receipt.store(&lake).await?;
        let keep = settings.upkeep.keep_versions.duration();
        let gone = if self.now {
            progress.say("removing old files");
            receipt.removed(vacuum(&lake, &sessions).await?);
            Timestamp::now()
        } else {
            let keep = SignedDuration::try_from(keep).unwrap_or(SignedDuration::MAX);
            Timestamp::now().checked_add(keep).unwrap_or(Timestamp::MAX)
        };
        progress.finish();
        receipt.finish(gone, held);
        receipt.store(&lake).await?;
        receipt.tell(&not_in_the_lake(settings), format)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// What is kept outside the lake, and for how long.
fn not_in_the_lake(settings: &Settings) -> String {
    format!(
        "the journal ({}) and dead letters are not part of the lake: they expire by themselves, within {} at the \
         latest; what they still bring into it, and copies made by `export`, have to be erased apart",
        settings.journal().display(),
        settings.journal.keep
    )
}

fn would(found: &Found, format: Format) -> Result<ExitCode, Failure> {
    let value = json!({"traces": found.traces.len(), "runs": found.runs.len(), "rows": found.rows});
    let mut lines = vec![
        ("traces".to_owned(), found.traces.len().to_string()),
        ("runs".to_owned(), found.runs.len().to_string()),
    ];
    lines.extend(found.rows.iter().map(|(table, rows)| (table.clone(), format!("{rows} rows"))));
    lines.push(("nothing was changed".to_owned(), "run it without --dry-run to remove these".to_owned()));
    output::answer(&value, &lines, format)?;
    Ok(ExitCode::SUCCESS)
}

/// Says, where results don't stand, what is about to go and what may follow it.
fn before(found: &Found, held: u64, settings: &Settings) -> Result<(), Failure> {
    let rows: Vec<String> = found.rows.iter().map(|(table, rows)| format!("{table} {rows}")).collect();
    let (traces, runs) = (found.traces.len(), found.runs.len());
    let mut out = std::io::stderr().lock();
    writeln!(out, "removing {traces} traces and {runs} runs; rows by table: {}", rows.join(", "))?;
    if held > 0 {
        writeln!(
            out,
            "the journal in {} holds {held} requests that are not in the lake yet: run this again once `serve` has \
             brought them there",
            settings.journal().display()
        )?;
    }
    Ok(())
}

/// Removes the files that only versions before the erasure need, of every table.
async fn vacuum(lake: &Lake, sessions: &SessionFactory) -> Result<Vacuumed, Failure> {
    let pins = pins(lake, sessions, Duration::ZERO).await?;
    let mut removed = Vacuumed::default();
    for described in lake.schemas().iter() {
        let Some(table) = lake.existing(&described.name).await? else { continue };
        // The log has bounds of the files that went; a checkpoint lets its old entries go too.
        table.checkpoint().await?;
        // Files of writers that are at work are spared by their age, which stays what it is.
        let vacuum =
            Vacuum { retention: Duration::ZERO, pinned: pins.versions(&described.name), ..Vacuum::default() };
        let done = table.vacuum(&vacuum).await?;
        removed.files += done.files;
        removed.bytes += done.bytes;
        removed.log_entries += done.log_entries;
    }
    Ok(removed)
}
