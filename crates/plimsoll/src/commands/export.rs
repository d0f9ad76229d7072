//! `plimsoll export`: a table, or the rows of a query, copied out into one file.
//!
//! In which order the rows come is decided in `export_rows`. Invariant: a rerun on the same round of
//! jobs gives the same bytes, and the file has its name only once it is whole and on the disk.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use arrow::compute::BatchCoalescer;
use datafusion::prelude::DataFrame;
use futures::TryStreamExt as _;
use jiff::Timestamp;
use plimsoll_profile::{ProfileError, Reader};
use serde_json::json;

use super::{export_rows, sql};
use crate::{
    cli::Format,
    failure::Failure,
    open, output,
    progress::Progress,
    row_writer::{Encoding, RowWriter},
    settings::Settings,
    whole_file::WholeFile,
};

/// Rows that are written at once: always as many, however the engine deals them out, so that pages and
/// row groups end at the same rows in every run.
const ROWS_AT_ONCE: usize = 8192;

/// Options of `export`.
#[derive(Debug, clap::Args)]
pub(crate) struct Export {
    /// The table, as it is stored; a view is exported by --query.
    #[arg(required_unless_present_any = ["query", "file"])]
    table: Option<String>,
    /// Exports the rows of a query instead.
    #[arg(long, value_name = "SQL", conflicts_with_all = ["table", "file"])]
    query: Option<String>,
    /// Exports the rows of the query in this file; `-` is stdin.
    #[arg(short, long, value_name = "FILE", conflicts_with = "table")]
    file: Option<PathBuf>,
    /// The file to write, in the format of --format or of its ending: .parquet, .csv or .json.
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
    /// Rows at this instant or later, by the table's first time column.
    #[arg(long, value_name = "TIME", requires = "table")]
    from: Option<Timestamp>,
    /// Rows before this instant.
    #[arg(long, value_name = "TIME", requires = "table")]
    until: Option<Timestamp>,
}

impl Export {
    pub(crate) async fn run(&self, settings: &Settings, format: Format) -> Result<ExitCode, Failure> {
        let encoding = encoding(format, &self.to)?;
        let lake = open::lake(settings).await?;
        let reader = Reader::pinned(&lake, &open::sessions(settings)?).await?;
        // One thread: with several, sums of doubles would differ in their last digits from run to run.
        let reader = reader.on_one_thread();
        let parts = match &self.table {
            Some(name) => {
                let described = lake.schemas().get(name).ok_or_else(|| unknown(name, &lake))?;
                export_rows::of_table(&reader, described, self.from, self.until).await?
            }
            None => vec![export_rows::of_query(&reader, &self.statement()?).await?],
        };
        let progress = Progress::spinner();
        let written = tokio::select! {
            written = write(parts, &self.to, encoding, &progress) => written?,
            _ = tokio::signal::ctrl_c() => return Err(Failure::internal("stopped: nothing was written")),
        };
        progress.finish();
        self.tell(&written, format)?;
        Ok(ExitCode::SUCCESS)
    }

    /// The only statement of --query or -f.
    fn statement(&self) -> Result<String, Failure> {
        let text = match (&self.query, &self.file) {
            (Some(query), _) => query.clone(),
            (None, Some(path)) => sql::text_of(path)?,
            (None, None) => return Err(Failure::input("name a table, or give --query or -f")),
        };
        let mut statements = sql::statements(&text)?;
        match (statements.pop(), statements.is_empty()) {
            (Some(only), true) => Ok(only),
            _ => Err(Failure::input("export takes one query: a file holds the rows of one")),
        }
    }

    fn tell(&self, written: &Written, format: Format) -> Result<(), Failure> {
        let file = self.to.display().to_string();
        let value = json!({"file": file, "rows": written.rows, "bytes": written.bytes});
        let lines = [
            ("file".to_owned(), file),
            ("rows".to_owned(), written.rows.to_string()),
            ("bytes".to_owned(), written.bytes.to_string()),
        ];
        // The file has the format that was asked for; what is said of it has one of its own.
        let said = if format == Format::Json { Format::Json } else { Format::Table };
        output::answer(&value, &lines, said)
    }
}

/// What came of it.
struct Written {
    rows: u64,
    bytes: u64,
}

/// Writes the rows of all parts, one part after the other.
async fn write(
    parts: Vec<DataFrame>,
    to: &Path,
    encoding: Encoding,
    progress: &Progress,
) -> Result<Written, Failure> {
    let Some(first) = parts.first() else {
        return Err(Failure::internal("there is nothing that could be exported"));
    };
    let schema = std::sync::Arc::clone(first.schema().inner());
    let mut even = BatchCoalescer::new(std::sync::Arc::clone(&schema), ROWS_AT_ONCE);
    let failed = |failure: Failure| failure.context(format!("{} was not written", to.display()));
    let mut out = RowWriter::start(WholeFile::create(to)?, &schema, encoding).map_err(failed)?;
    let mut rows = 0;
    for part in parts {
        let mut stream = part.execute_stream().await.map_err(wrong)?;
        while let Some(batch) = stream.try_next().await.map_err(wrong)? {
            rows += batch.num_rows() as u64;
            even.push_batch(batch)?;
            while let Some(batch) = even.next_completed_batch() {
                out.write(&batch).map_err(failed)?;
            }
            progress.say(&format!("{}: {rows} rows", to.display()));
        }
    }
    even.finish_buffered_batch()?;
    while let Some(batch) = even.next_completed_batch() {
        out.write(&batch).map_err(failed)?;
    }
    let whole = out.finish().map_err(failed)?;
    let bytes = whole.finish().map_err(|error| failed(error.into()))?;
    Ok(Written { rows, bytes })
}

/// What the engine says of a statement is shown as `sql` shows it.
fn wrong(error: datafusion::error::DataFusionError) -> Failure {
    sql::wrong(ProfileError::from(error))
}

/// The format that was asked for, else the one that the file's ending names.
fn encoding(format: Format, to: &Path) -> Result<Encoding, Failure> {
    let ending = to.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    match (format, ending.to_ascii_lowercase().as_str()) {
        (Format::Parquet, _) | (Format::Table, "parquet") => Ok(Encoding::Parquet),
        (Format::Csv, _) | (Format::Table, "csv") => Ok(Encoding::Csv),
        (Format::Json, _) | (Format::Table, "json") => Ok(Encoding::Json),
        _ => Err(Failure::input(format!(
            "{}: say the format by --format parquet, csv or json, or by the file's ending",
            to.display()
        ))),
    }
}

fn unknown(name: &str, lake: &plimsoll_lake::Lake) -> Failure {
    let known: Vec<&str> = lake.schemas().iter().map(|table| table.name.as_str()).collect();
    Failure::input(format!(
        "no table is called {name}; the tables are {}, and views go by --query \"SELECT * FROM {name}\"",
        known.join(", ")
    ))
}
