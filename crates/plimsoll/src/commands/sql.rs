//! `plimsoll sql`: read-only SQL over all tables.

use std::{
    io::Read as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use arrow::array::RecordBatch;
use datafusion::{error::DataFusionError, prelude::DataFrame};
use plimsoll_profile::Reader;

use super::sql_prompt;
use crate::{
    cli::Format,
    damage,
    failure::{self, Failure},
    open, output,
    settings::Settings,
};

/// Options of `sql`.
#[derive(Debug, clap::Args)]
pub(crate) struct Sql {
    /// The query; without one, and without -f, a prompt.
    query: Option<String>,
    /// A file of queries, parted by semicolons; `-` is stdin.
    #[arg(short, long, value_name = "FILE", conflicts_with = "query")]
    file: Option<PathBuf>,
    /// Shows every row of a table.
    #[arg(long)]
    all: bool,
    /// Leaves out files that are damaged, and says so, instead of failing.
    #[arg(long)]
    skip_damaged: bool,
}

impl Sql {
    pub(crate) async fn run(&self, settings: &Settings, format: Format) -> Result<ExitCode, Failure> {
        let lake = open::lake(settings).await?;
        let sessions = open::sessions(settings)?;
        let reader = damage::reader(&lake, &sessions, self.skip_damaged).await?;
        let text = match (&self.query, &self.file) {
            (Some(query), _) => query.clone(),
            (None, Some(path)) => text_of(path)?,
            (None, None) => return sql_prompt::run(&reader, format, self.all).await,
        };
        let statements = statements(&text)?;
        if statements.is_empty() {
            return Err(Failure::input("there is no query in it"));
        }
        for statement in statements {
            let frame = reader.plan(&statement).await.map_err(wrong)?;
            match rows(frame).await {
                Ok(batches) => output::rows(&batches, format, self.all)?,
                Err(error) => {
                    let behind = damage::behind(&lake, &sessions, &error).await;
                    return Err(behind.unwrap_or_else(|| wrong(error.into())));
                }
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Runs one statement and prints its rows.
pub(super) async fn show(reader: &Reader, statement: &str, format: Format, all: bool) -> Result<(), Failure> {
    let frame = reader.plan(statement).await.map_err(wrong)?;
    let batches = rows(frame).await.map_err(|error| wrong(error.into()))?;
    output::rows(&batches, format, all)
}

/// The rows of a statement; an empty batch where there is none, so that the columns are known.
async fn rows(frame: DataFrame) -> Result<Vec<RecordBatch>, DataFusionError> {
    let schema = std::sync::Arc::clone(frame.schema().inner());
    let mut batches = frame.collect().await?;
    if batches.is_empty() {
        batches.push(RecordBatch::new_empty(schema));
    }
    Ok(batches)
}

/// The text of a file of queries; `-` is stdin.
pub(super) fn text_of(path: &Path) -> Result<String, Failure> {
    if path.as_os_str() == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text)?;
        return Ok(text);
    }
    std::fs::read_to_string(path).map_err(failure::file(path))
}

/// What the engine refuses in a query is the user's to mend.
pub(super) fn wrong(error: plimsoll_profile::ProfileError) -> Failure {
    match error {
        plimsoll_profile::ProfileError::Query { source, .. } => {
            let text = source.strip_backtrace();
            Failure::input(text.lines().next().unwrap_or_default())
        }
        other => other.into(),
    }
}

/// The statements of a text, by the engine's own parser, so that a semicolon in a string parts nothing.
pub(super) fn statements(text: &str) -> Result<Vec<String>, Failure> {
    use datafusion::sql::parser::DFParser;
    let parsed = DFParser::parse_sql(text).map_err(|error| Failure::input(error.strip_backtrace()))?;
    Ok(parsed.iter().map(ToString::to_string).collect())
}
