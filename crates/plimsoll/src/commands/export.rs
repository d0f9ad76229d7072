//! `plimsoll export`: a table, or the rows of a query, copied out into one file.
//!
//! In which order the rows come is decided in `export_rows`. Invariant: a rerun on the same round of
//! jobs gives the same bytes, and the file has its name only once it is whole and on the disk.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use arrow::{compute::BatchCoalescer, error::ArrowError};
use datafusion::{error::DataFusionError, prelude::DataFrame};
use futures::TryStreamExt as _;
use jiff::Timestamp;
use serde_json::json;

use super::{export_rows, sql};
use crate::{
    cli::Format,
    damage,
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
    /// Leaves out files that are damaged, and says so, instead of failing.
    #[arg(long)]
    skip_damaged: bool,
}

impl Export {
    pub(crate) async fn run(&self, settings: &Settings, format: Format) -> Result<ExitCode, Failure> {
        let encoding = encoding(format, &self.to)?;
        let lake = open::existing_lake(settings).await?;
        let sessions = open::sessions(settings)?;
        let reader = damage::reader(&lake, &sessions, self.skip_damaged).await?;
        // One thread: with several, sums of doubles would differ in their last digits from run to run.
        let reader = reader.on_one_thread();
        let parts = match &self.table {
            Some(name) => {
                let described = lake.schemas().get(name).ok_or_else(|| unknown(name, &lake))?;
                let times = export_rows::within(described, self.from, self.until)?;
                match export_rows::of_table(&reader, described, times).await {
                    Ok(parts) => parts,
                    Err(error) => {
                        let behind = damage::behind(&lake, &sessions, &error).await;
                        return Err(behind.unwrap_or_else(|| sql::wrong(error.into())));
                    }
                }
            }
            None => vec![export_rows::of_query(&reader, &self.statement()?).await?],
        };
        let progress = Progress::spinner();
        let written = tokio::select! {
            written = write(parts, &self.to, encoding, &progress) => written,
            _ = tokio::signal::ctrl_c() => return Err(Failure::internal("stopped: nothing was written")),
        };
        progress.finish();
        match written {
            Ok(written) => self.tell(&written, format)?,
            Err(Ended::ByOutput(failure)) => return Err(failure),
            Err(Ended::ByRows(error)) => {
                let behind = damage::behind(&lake, &sessions, &error).await;
                return Err(behind.unwrap_or_else(|| sql::wrong(error.into())));
            }
        }
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

/// What ended it early.
enum Ended {
    /// Rows that the engine could not give.
    ByRows(DataFusionError),
    /// A file that could not be written.
    ByOutput(Failure),
}

impl From<DataFusionError> for Ended {
    fn from(error: DataFusionError) -> Self {
        Self::ByRows(error)
    }
}

impl From<Failure> for Ended {
    fn from(failure: Failure) -> Self {
        Self::ByOutput(failure)
    }
}

impl From<ArrowError> for Ended {
    fn from(error: ArrowError) -> Self {
        Self::ByRows(error.into())
    }
}

/// Writes the rows of all parts, one part after the other.
async fn write(
    parts: Vec<DataFrame>,
    to: &Path,
    encoding: Encoding,
    progress: &Progress,
) -> Result<Written, Ended> {
    let Some(first) = parts.first() else {
        return Err(Failure::internal("there is nothing that could be exported").into());
    };
    let schema = std::sync::Arc::clone(first.schema().inner());
    let mut even = BatchCoalescer::new(std::sync::Arc::clone(&schema), ROWS_AT_ONCE);
    let failed = |failure: Failure| failure.context(format!("{} was not written", to.display()));
    let mut out = RowWriter::start(WholeFile::create(to)?, &schema, encoding).map_err(failed)?;
    let mut rows = 0;
    for part in parts {
        let mut stream = part.execute_stream().await?;
        while let Some(batch) = stream.try_next().await? {
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
