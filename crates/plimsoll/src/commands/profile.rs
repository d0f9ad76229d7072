//! `plimsoll profile`: the SQL jobs over what is new.

use std::process::ExitCode;

use jiff::Timestamp;
use plimsoll_lake::Lake;
use plimsoll_profile::{Remake, RoundReport, SessionFactory, run_round};
use serde_json::json;

use crate::{cli::Format, failure::Failure, open, output, progress::Progress, settings::Settings};

/// Options of `profile`.
#[derive(Debug, clap::Args)]
pub(crate) struct Profile {
    /// Makes the runs anew that started at this instant or later.
    #[arg(long, value_name = "TIME")]
    from: Option<Timestamp>,
    /// Makes the runs anew that started before this instant.
    #[arg(long, value_name = "TIME")]
    to: Option<Timestamp>,
    /// Makes every table anew from all spans.
    #[arg(long, conflicts_with_all = ["from", "to"])]
    rebuild: bool,
}

impl Profile {
    pub(crate) async fn run(&self, settings: &Settings, format: Format) -> Result<ExitCode, Failure> {
        let lake = open::lake(settings).await?;
        let sessions = open::sessions(settings)?;
        let report = round(&lake, &sessions, self.remake()).await?;
        let mut lines = vec![
            ("lake version".to_owned(), report.lake_version.to_string()),
            ("runs made".to_owned(), report.runs.to_string()),
        ];
        if !report.changed {
            lines.push(("nothing new".to_owned(), "the tables stay as they are".to_owned()));
        }
        lines.extend(report.rebuilt.map(|why| ("all made anew".to_owned(), why.to_owned())));
        lines.extend(report.rows.iter().map(|(table, rows)| (table.clone(), format!("{rows} rows"))));
        let value = json!({
            "lake_version": report.lake_version,
            "changed": report.changed,
            "rebuilt": report.rebuilt,
            "runs": report.runs,
            "rows": report.rows,
        });
        output::answer(&value, &lines, format)?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Profile {
    fn remake(&self) -> Remake {
        match (self.rebuild, self.from, self.to) {
            (true, ..) => Remake::All,
            (false, None, None) => Remake::Nothing,
            (false, from, to) => {
                Remake::Started(from.unwrap_or(Timestamp::MIN), to.unwrap_or(Timestamp::MAX))
            }
        }
    }
}

/// A round with its progress shown.
pub(crate) async fn round(
    lake: &Lake,
    sessions: &SessionFactory,
    remake: Remake,
) -> Result<RoundReport, Failure> {
    let progress = Progress::spinner();
    let report = run_round(lake, sessions, remake, &|what| progress.say(what)).await?;
    progress.finish();
    Ok(report)
}
