//! `plimsoll explain`: why a number is what it is, span by span.
//!
//! Spans come from files, which are decoded with the decoder taking notes, or from the lake, which has
//! what was kept of them. What each counts as is assembly's word. How it is shown is `explain_page`'s.

use std::{collections::BTreeMap, path::PathBuf, process::ExitCode};

use arrow::{
    array::{AsArray, RecordBatch},
    compute::concat_batches,
};
use plimsoll_ingest::{FileInput, FileOptions, explain_file, file::FileFormat};
use plimsoll_otlp::explain::Reasons;
use plimsoll_profile::{Reader, Verdict};

use super::explain_page::{self, Told};
use crate::{cli::Format, failure::Failure, open, output, settings::Settings};

/// Spans beyond this are not looked at: nobody reads that much.
const MAX_SPANS: usize = 20_000;

/// Options of `explain`.
#[derive(Debug, clap::Args)]
pub(crate) struct Explain {
    /// Files as `ingest` reads them (`-` is stdin), or a trace or run id of the lake.
    #[arg(required = true, value_name = "FILE|TRACE_ID")]
    what: Vec<String>,
    /// Only the span whose id starts so.
    #[arg(long, value_name = "ID")]
    span: Option<String>,
    /// How the files are written, where their start does not tell: see `ingest`.
    #[arg(long = "as", value_name = "FORMAT", default_value = "auto")]
    written_as: FileFormat,
}

/// Rows of `spans`, and the reasons for each where the original bytes were there to ask.
#[derive(Default)]
struct Found {
    rows: Vec<RecordBatch>,
    reasons: Vec<Reasons>,
    remarks: Vec<String>,
}

impl Explain {
    pub(crate) async fn run(&self, settings: &Settings, format: Format) -> Result<ExitCode, Failure> {
        let is_file = |what: &String| what == "-" || PathBuf::from(what).exists();
        let found = match self.what.as_slice() {
            [id] if !is_file(id) => self.stored(id, settings).await?,
            _ => self.read(settings)?,
        };
        let verdicts = plimsoll_profile::explain(&open::policy(settings)?, &found.rows)?;
        let told = self.told(&found, verdicts)?;
        if told.is_empty() {
            return Err(Failure::no_data("no span of that id is there"));
        }
        match format {
            Format::Json => {
                let spans = told.iter().map(explain_page::json).collect::<Result<Vec<_>, _>>()?;
                output::answer(&spans, &[], Format::Json)?;
            }
            Format::Table => output::line(explain_page::text(&told, &found.remarks)?.trim_end())?,
            Format::Csv | Format::Parquet => {
                return Err(Failure::input("explain prints a table or JSON: choose --format table or json"));
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The spans of files, and why their columns hold what they hold.
    fn read(&self, settings: &Settings) -> Result<Found, Failure> {
        let decoder = open::decoder_of(settings, &open::schemas()?)?;
        let options = FileOptions { format: self.written_as, ..FileOptions::default() };
        let mut found = Found::default();
        for file in &self.what {
            let input = if file == "-" { FileInput::Stdin } else { FileInput::Path(PathBuf::from(file)) };
            let bad = explain_file(&input, &options, &decoder, |explained| {
                match explained {
                    Ok(explained) => {
                        let decoded = explained.decoded;
                        found.remarks.extend(decoded.message.map(|message| format!("{file}: {message}")));
                        if decoded.quarantined.num_rows() > 0 {
                            let spans = decoded.quarantined.num_rows();
                            found
                                .remarks
                                .push(format!("{file}: {spans} span(s) go to quarantine, for their time"));
                        }
                        found.reasons.extend(explained.reasons);
                        found.rows.push(decoded.spans);
                    }
                    Err(error) => found.remarks.push(format!("{file}: {error}")),
                }
                found.reasons.len() < MAX_SPANS
            });
            let bad = bad.map_err(Failure::input)?;
            found.remarks.extend(bad.iter().map(|bad| format!("{file}, item {}: {}", bad.item, bad.reason)));
            if found.reasons.len() >= MAX_SPANS {
                found.remarks.push(format!("only the first {MAX_SPANS} spans are looked at"));
                break;
            }
        }
        if found.reasons.is_empty() {
            let why = found.remarks.first().map_or("no spans are in it", String::as_str);
            return Err(Failure::input(why));
        }
        Ok(found)
    }

    /// The spans of a trace or run as the lake has them.
    async fn stored(&self, id: &str, settings: &Settings) -> Result<Found, Failure> {
        if !id.chars().all(|char| char.is_ascii_alphanumeric() || "-_.:/".contains(char)) {
            return Err(Failure::input(format!("{id}: no such file, and no id of a run")));
        }
        let lake = open::lake(settings).await?;
        let reader = Reader::pinned(&lake, &open::sessions(settings)?).await?;
        let query = format!(
            "SELECT * FROM spans WHERE trace_id = '{id}' OR trace_id IN \
             (SELECT unnest(trace_ids) FROM runs WHERE run_id = '{id}') LIMIT {MAX_SPANS}"
        );
        let mut rows = reader.query(&query).await?;
        rows.retain(|rows| rows.num_rows() > 0);
        if rows.is_empty() {
            return Err(Failure::no_data(format!(
                "{id}: no such file, and no such trace or run in the lake"
            )));
        }
        let remarks = vec![
            "the lake has what was kept: which attribute gave what, and which were content, the original \
             bytes tell (plimsoll explain FILE)"
                .to_owned(),
        ];
        Ok(Found { rows, reasons: Vec::new(), remarks })
    }

    /// Each verdict with its row and its reasons, in the verdicts' order.
    fn told(&self, found: &Found, verdicts: Vec<Verdict>) -> Result<Vec<Told>, Failure> {
        let Some(first) = found.rows.first() else { return Ok(Vec::new()) };
        let rows = concat_batches(&first.schema(), &found.rows)?;
        let [traces, spans] = ["trace_id", "span_id"]
            .map(|name| rows.column_by_name(name).and_then(|column| column.as_string_opt::<i32>()));
        let (Some(traces), Some(spans)) = (traces, spans) else {
            return Err(Failure::internal("the rows of spans have no ids"));
        };
        // Of a span that came twice the last row is shown.
        let at: BTreeMap<(&str, &str), usize> =
            (0..rows.num_rows()).map(|row| ((traces.value(row), spans.value(row)), row)).collect();
        let wanted = |verdict: &Verdict| {
            self.span.as_deref().is_none_or(|id| verdict.span_id.starts_with(&id.to_ascii_lowercase()))
        };
        let told = verdicts.into_iter().filter(wanted).filter_map(|verdict| {
            let row = *at.get(&(verdict.trace_id.as_str(), verdict.span_id.as_str()))?;
            let reasons = found.reasons.get(row).cloned();
            Some(Told { verdict, row: rows.slice(row, 1), reasons })
        });
        Ok(told.collect())
    }
}
