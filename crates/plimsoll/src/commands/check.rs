//! `plimsoll check`: every query of `sql/checks` must return no row.

use std::process::ExitCode;

use plimsoll_profile::Reader;
use serde_json::json;

use crate::{cli::Format, failure::Failure, open, output, settings::Settings};

/// Options of `check`.
#[derive(Debug, clap::Args)]
pub(crate) struct Check {}

impl Check {
    pub(crate) async fn run(&self, settings: &Settings, format: Format) -> Result<ExitCode, Failure> {
        let lake = open::lake(settings).await?;
        let sessions = open::sessions(settings)?;
        let reader = Reader::pinned(&lake, &sessions).await?;
        let mut found = Vec::new();
        for (file, sql) in sessions.sql().folder("checks") {
            let rows: usize = reader.query(sql).await?.iter().map(|batch| batch.num_rows()).sum();
            found.push((file.to_owned(), rows));
        }
        let lines: Vec<(String, String)> = found
            .iter()
            .map(|(file, rows)| {
                let verdict =
                    if *rows == 0 { "holds".to_owned() } else { format!("{rows} rows contradict it") };
                (file.trim_end_matches(".sql").to_owned(), verdict)
            })
            .collect();
        let value: Vec<_> = found.iter().map(|(file, rows)| json!({"check": file, "rows": rows})).collect();
        output::answer(&value, &lines, format)?;
        match found.iter().find(|(_, rows)| *rows > 0) {
            None => Ok(ExitCode::SUCCESS),
            Some((file, rows)) => Err(Failure::damaged(format!(
                "check {file} finds {rows} rows that should not be: run its query with `plimsoll sql -f` to see them"
            ))),
        }
    }
}
