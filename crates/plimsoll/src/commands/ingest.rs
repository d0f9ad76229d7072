//! `plimsoll ingest`: telemetry from files.

use std::{collections::BTreeMap, path::PathBuf, process::ExitCode};

use jiff::Timestamp;
use plimsoll_ingest::{
    FileInput, FileOptions, FileReport,
    file::{Field, FileFormat},
    ingest_file,
};
use serde_json::json;

use crate::{cli::Format, failure::Failure, open, output, progress::Progress, settings::Settings};

/// Options of `ingest`.
#[derive(Debug, clap::Args)]
pub(crate) struct Ingest {
    /// OTLP bodies (protobuf or JSON), the collector's file-exporter lines, or request traces in CSV or
    /// JSON lines; `-` is stdin. Files in gzip or Zstandard are read as they are.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// How the files are written, where their start does not tell: otlp-proto, otlp-proto-delimited,
    /// otlp-json, jsonl, csv.
    #[arg(long = "as", value_name = "FORMAT", default_value = "auto")]
    written_as: FileFormat,
    /// Maps a field of a request trace to a column, as in input_tokens=ContextTokens; may be given
    /// several times.
    #[arg(long, value_name = "FIELD=COLUMN")]
    column: Vec<String>,
    /// Gives a field of a request trace the same value in every row, as in workflow=chat.
    #[arg(long, value_name = "FIELD=VALUE")]
    set: Vec<String>,
    /// Instant from which numeric timestamps count, where not from 1970.
    #[arg(long, value_name = "TIME")]
    start: Option<Timestamp>,
    /// Name of the source that the spans carry, where not the file's.
    #[arg(long)]
    source: Option<String>,
}

impl Ingest {
    pub(crate) async fn run(&self, settings: &Settings, format: Format) -> Result<ExitCode, Failure> {
        let options = FileOptions {
            format: self.written_as,
            columns: pairs("--column", &self.column)?,
            constants: pairs("--set", &self.set)?,
            start: self.start,
            time_unit: None,
            source: self.source.clone(),
        };
        let lake = open::lake(settings).await?;
        let decoder = open::decoder(settings, &lake)?;
        for file in &self.files {
            let input =
                if file.as_os_str() == "-" { FileInput::Stdin } else { FileInput::Path(file.clone()) };
            let progress = Progress::bar(file.metadata().map_or(0, |meta| meta.len()));
            progress.say(&file.display().to_string());
            let report = ingest_file(&input, &options, &lake, &decoder, |at| progress.done(at.bytes))
                .await
                .map_err(Failure::input)?;
            progress.finish();
            tell(&file.display().to_string(), &report, format)?;
            if nothing_read(&report) {
                return Err(Failure::input(format!("{}: nothing in it could be read", file.display())));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Whether a file gave nothing but faults.
fn nothing_read(report: &FileReport) -> bool {
    let read = report.spans + report.quarantined + report.rejected + report.passed_over;
    report.lines_bad > 0 && read == 0 && !report.already_ingested
}

fn tell(file: &str, report: &FileReport, format: Format) -> Result<(), Failure> {
    let bad: Vec<String> = report.bad.iter().map(|bad| format!("{}: {}", bad.item, bad.reason)).collect();
    let value = json!({
        "file": file,
        "sha256": report.sha256,
        "already_ingested": report.already_ingested,
        "spans": report.spans,
        "quarantined": report.quarantined,
        "rejected": report.rejected,
        "log_records_without_call": report.passed_over,
        "lines_bad": report.lines_bad,
        "bad": bad,
    });
    let mut lines = vec![("file".to_owned(), file.to_owned())];
    if report.already_ingested {
        lines.push(("nothing new".to_owned(), "this content is in the lake already".to_owned()));
    }
    for (name, count) in [
        ("spans", report.spans),
        ("quarantined", report.quarantined),
        ("rejected", report.rejected),
        ("log records of no call", report.passed_over),
        ("lines not read", report.lines_bad),
    ] {
        if count > 0 || name == "spans" {
            lines.push((name.to_owned(), count.to_string()));
        }
    }
    lines.extend(bad.into_iter().map(|bad| ("  line".to_owned(), bad)));
    if !report.ignored_columns.is_empty() {
        lines.push(("columns not used".to_owned(), report.ignored_columns.join(", ")));
    }
    output::answer(&value, &lines, format)
}

fn pairs(flag: &str, texts: &[String]) -> Result<BTreeMap<Field, String>, Failure> {
    texts
        .iter()
        .map(|text| {
            let (field, value) = text
                .split_once('=')
                .ok_or_else(|| Failure::input(format!("{flag} {text}: write FIELD=VALUE")))?;
            let field = field.parse().map_err(|error| Failure::input(format!("{flag} {text}: {error}")))?;
            Ok((field, value.to_owned()))
        })
        .collect()
}
