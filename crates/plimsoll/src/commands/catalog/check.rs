//! `plimsoll catalog check`: every mistake in provider files, and every row that has grown old.
//!
//! A mistake ends it with exit code 2; a stale row is told and does not, since it still answers.

use std::{path::PathBuf, process::ExitCode};

use plimsoll_catalog::{Catalog, Fault};
use serde::Serialize;

use super::day;
use crate::{cli::Format, embedded, failure::Failure, output, settings::Settings};

/// Options of `catalog check`.
#[derive(Debug, clap::Args)]
pub(crate) struct Check {
    /// Folder of provider files; without it, what comes with plimsoll and the folder of plimsoll.toml.
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Day on which rows are judged to be stale; without it, the last of the catalog's month.
    #[arg(long, value_name = "DATE")]
    as_of: Option<String>,
}

/// One thing that was found.
#[derive(Serialize)]
struct Finding {
    finding: &'static str,
    file: Option<String>,
    line: Option<usize>,
    field: Option<String>,
    row: Option<String>,
    message: String,
}

impl Check {
    pub(super) fn run(&self, settings: &Settings, format: Format) -> Result<ExitCode, Failure> {
        let texts = match &self.folder {
            Some(folder) => {
                let texts: Vec<_> = embedded::read_folder(folder, "toml")?.into_iter().collect();
                if texts.is_empty() {
                    return Err(Failure::input(format!("{} has no .toml file", folder.display())));
                }
                texts
            }
            None => embedded::texts("providers", settings.folders.providers.as_deref())?,
        };
        let files = texts.len();
        let (catalog, faults) = Catalog::read(texts);
        let mut findings: Vec<Finding> = faults.into_iter().map(Finding::fault).collect();
        let wrong = findings.len();
        // A folder of one's own need not tell its month; nothing is stale then unless a day is given.
        let as_of = match &self.as_of {
            Some(text) => Some(day(Some(text), &catalog)?),
            None => catalog.edition_day(),
        };
        if let Some(as_of) = as_of {
            findings.extend(catalog.in_force(as_of).flat_map(|entry| {
                entry.stale_sources(as_of).map(|source| Finding {
                    finding: "stale",
                    file: None,
                    line: None,
                    field: None,
                    row: Some(entry.key.to_string()),
                    message: format!(
                        "`{}` was read on {}, more than 180 days before",
                        source.title, source.read_on
                    ),
                })
            }));
        }
        match format {
            Format::Table => {
                for finding in &findings {
                    output::line(&finding.text())?;
                }
                let rows = catalog.entries().count();
                output::line(&format!(
                    "{files} files, {rows} rows, {wrong} mistakes, {} stale sources",
                    findings.len() - wrong
                ))?;
            }
            _ => output::list(&findings, format)?,
        }
        Ok(if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::from(2) })
    }
}

impl Finding {
    fn fault(fault: Fault) -> Self {
        Self {
            finding: "mistake",
            file: Some(fault.file),
            line: fault.line,
            field: fault.field,
            row: None,
            message: fault.message,
        }
    }

    fn text(&self) -> String {
        let mut text = self.file.clone().unwrap_or_else(|| self.finding.to_owned());
        if let Some(line) = self.line {
            text.push_str(&format!(":{line}"));
        }
        for part in [&self.field, &self.row].into_iter().flatten() {
            text.push_str(&format!(": {part}"));
        }
        format!("{text}: {}", self.message)
    }
}
