//! The prompt of `plimsoll sql`: history, statements over several lines, and listings in the manner
//! of psql.

use std::{path::PathBuf, process::ExitCode};

use plimsoll_profile::Reader;
use rustyline::{DefaultEditor, error::ReadlineError};

use super::sql::show;
use crate::{cli::Format, failure::Failure, output};

const HELP: &str = "\
\\d            tables and views        \\d NAME   columns of one, with units
\\q            leave                   \\?        this
A statement ends with a semicolon.";

/// Reads statements until the end of input.
pub(super) async fn run(reader: &Reader, format: Format, all: bool) -> Result<ExitCode, Failure> {
    let mut editor = DefaultEditor::new().map_err(Failure::internal)?;
    let history = history_file();
    if let Some(path) = &history {
        // The first time there is none.
        let _absent = editor.load_history(path);
    }
    match reader.snapshot() {
        Some(row) => output::line(&format!("lake version {} - \\? for help", row.lake_version))?,
        None => output::line(
            "no round of jobs has run yet: `plimsoll profile` makes runs and profiles - \\? for help",
        )?,
    }
    let mut statement = String::new();
    loop {
        let prompt = if statement.is_empty() { "plimsoll> " } else { "      ... " };
        let line = match editor.readline(prompt) {
            Ok(line) => line,
            Err(ReadlineError::Interrupted) => {
                statement.clear();
                continue;
            }
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(Failure::internal(error)),
        };
        let words = line.trim();
        if statement.is_empty() && words.starts_with('\\') {
            let _kept = editor.add_history_entry(words);
            match words.split_whitespace().collect::<Vec<_>>().as_slice() {
                ["\\q"] => break,
                ["\\d"] => told(show(reader, TABLES, format, true).await)?,
                ["\\d", name] => told(show(reader, &columns(name), format, true).await)?,
                _ => output::line(HELP)?,
            }
            continue;
        }
        statement.push_str(&line);
        statement.push('\n');
        if words.ends_with(';') {
            let done = std::mem::take(&mut statement);
            let _kept = editor.add_history_entry(done.trim());
            told(show(reader, done.trim().trim_end_matches(';'), format, all).await)?;
        } else if words.is_empty() && statement.trim().is_empty() {
            statement.clear();
        }
    }
    if let Some(path) = &history {
        let _kept = std::fs::create_dir_all(path.parent().unwrap_or(path));
        let _kept = editor.save_history(path);
    }
    Ok(ExitCode::SUCCESS)
}

const TABLES: &str = "
SELECT table_name, table_type FROM information_schema.tables
WHERE table_schema = 'public' ORDER BY table_name";

fn columns(name: &str) -> String {
    let name = name.replace('\'', "''");
    format!(
        "SELECT i.column_name, i.data_type, coalesce(c.unit, '') AS unit, coalesce(c.description, '') AS description
         FROM information_schema.columns i
         LEFT JOIN columns c ON c.table_name = i.table_name AND c.column_name = i.column_name
         WHERE i.table_schema = 'public' AND i.table_name = '{name}' ORDER BY i.ordinal_position"
    )
}

/// A statement that fails ends neither the prompt nor the ones after it.
fn told(done: Result<(), Failure>) -> Result<(), Failure> {
    if let Err(failure) = done {
        failure.tell();
    }
    Ok(())
}

fn history_file() -> Option<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let state = state.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".local/state")))?;
    Some(state.join("plimsoll/sql_history"))
}
