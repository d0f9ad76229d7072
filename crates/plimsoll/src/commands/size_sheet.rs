//! `plimsoll size -f`: a worksheet of classes and scenarios, as one table.

use std::{path::Path, process::ExitCode};

use plimsoll_plan::{Worksheet, WorksheetLine, worksheet_table};

use crate::{
    cli::Format,
    failure::{self, Failure},
    open, output,
    settings::Settings,
};

pub(super) fn run(file: &Path, settings: &Settings, format: Format) -> Result<ExitCode, Failure> {
    let text = std::fs::read_to_string(file).map_err(failure::file(file))?;
    let name = file.display().to_string();
    let sheet = Worksheet::parse(&name, &text)?;
    let catalog = open::catalog(settings)?;
    let as_of = match sheet.as_of {
        Some(day) => day,
        None => super::catalog::day(None, &catalog)?,
    };
    let lines: Vec<WorksheetLine> = sheet.lines(&name, &text, &catalog, as_of)?;
    match format {
        Format::Table => output::line(worksheet_table(&lines).trim_end())?,
        other => output::list(&lines, other)?,
    }
    Ok(ExitCode::SUCCESS)
}
