//! The ingest of one file: read a chunk, decode it, commit it, until the end.
//!
//! Invariant: a chunk's commit carries the number of items up to its end, so a second ingest skips
//! exactly what is stored.

use std::sync::Arc;

use arrow::array::RecordBatch;
use plimsoll_lake::Lake;
use plimsoll_otlp::{DecodeError, Decoded, Decoder, Receipt};

use super::bodies::{Bad, Bodies, Body};
use super::content::Content;
use super::error::FileError;
use super::options::{FileInput, FileOptions, FileProgress, FileReport};
use super::span::Rows;
use crate::accept::now_unix_micros;
use crate::signal::{Kept, by_signal};
use crate::tables::{Committed, Held, Share, Tables};

/// Bytes of OTLP that one commit covers: some 50,000 spans, some 100 MB of memory while it is decoded.
const CHUNK: usize = 16 << 20;

/// Everything that is read on a blocking thread.
struct Reading {
    content: Content,
    bodies: Bodies,
    decoder: Arc<Decoder>,
    source: String,
    received_unix_micros: i64,
    held: Held,
    through: u64,
    bad: Bad,
}

/// The rows of one commit.
#[derive(Default)]
struct Chunk {
    spans: Vec<RecordBatch>,
    quarantined: Vec<RecordBatch>,
    rejected: u64,
    passed_over: u64,
    end: bool,
}

/// Ingests a file, or goes on with one where an earlier ingest stopped. `progress` is called after
/// every commit.
///
/// # Errors
/// The file can't be read or understood, or the lake fails. Lines that can't be read are no error:
/// the report counts them.
pub async fn ingest_file(
    input: &FileInput,
    options: &FileOptions,
    lake: &Lake,
    decoder: &Arc<Decoder>,
    mut progress: impl FnMut(FileProgress),
) -> Result<FileReport, FileError> {
    let tables = Tables::open(lake).await?;
    let input = input.clone();
    let opened = blocking(move || {
        let mut content = Content::open(&input)?;
        let digest = content.digest()?;
        Ok((content, digest))
    });
    let (content, digest) = opened.await?;
    let sha256: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let commit_name = format!("file/{sha256}");
    let held = tables.held(&commit_name).await?;
    let mut reading = open(content, digest, options.clone(), Arc::clone(decoder), held).await?;

    let mut report = FileReport { sha256, ..FileReport::default() };
    loop {
        let before = reading.through;
        let (back, chunk) = blocking(move || {
            let chunk = reading.chunk()?;
            Ok((reading, chunk))
        })
        .await?;
        reading = back;
        if reading.through > before {
            let name = reading.content.name.clone();
            let concurrent = || FileError::Concurrent { name: name.clone() };
            let quarantine = tables.write_quarantine(&chunk.quarantined).await?;
            let spans = tables.write_spans(&chunk.spans).await?;
            let Held { spans: spans_held, quarantine: quarantine_held } = reading.held;
            let through = reading.through;
            if !quarantine.is_empty() {
                let share = Share::one(quarantine, &commit_name, quarantine_held, through);
                mine(&tables.commit_quarantine(&[share]).await?, concurrent)?;
                reading.held.quarantine = through;
            }
            let share = Share::one(spans, &commit_name, spans_held, through);
            mine(&tables.commit_spans(&[share]).await?, concurrent)?;
            reading.held.spans = through;
            report.spans += rows(&chunk.spans);
            report.quarantined += rows(&chunk.quarantined);
            report.rejected += chunk.rejected;
            report.passed_over += chunk.passed_over;
        }
        progress(FileProgress {
            bytes: reading.content.read_bytes(),
            total_bytes: reading.content.total_bytes,
            spans: report.spans,
        });
        if chunk.end {
            break;
        }
    }
    report.already_ingested = held.spans > 0 && reading.through == held.spans;
    (report.columns, report.ignored_columns) = reading.bodies.columns();
    report.lines_bad = reading.bad.count;
    report.bad = reading.bad.first;
    Ok(report)
}

async fn open(
    mut content: Content,
    digest: [u8; 32],
    options: FileOptions,
    decoder: Arc<Decoder>,
    held: Held,
) -> Result<Reading, FileError> {
    blocking(move || {
        let source = options.source.unwrap_or_else(|| content.stem.clone());
        let FileOptions { format, columns, constants, start, time_unit: unit, .. } = options;
        let rows = Rows { digest, source: source.clone(), constants, start, unit };
        let bodies = Bodies::open(&mut content, format, rows, columns)?;
        Ok(Reading {
            content,
            bodies,
            decoder,
            source: format!("file/{source}"),
            received_unix_micros: now_unix_micros(),
            held,
            through: held.spans,
            bad: Bad::default(),
        })
    })
    .await
}

impl Reading {
    fn chunk(&mut self) -> Result<Chunk, FileError> {
        let mut chunk = Chunk::default();
        let mut bytes = 0;
        while bytes < CHUNK {
            let Some(body) = self.bodies.next(self.through, &mut self.bad)? else {
                chunk.end = true;
                break;
            };
            bytes += body.bytes.len();
            self.through = body.through;
            let receipt = Receipt { received_unix_micros: self.received_unix_micros, source: &self.source };
            match decode(&self.decoder, &body, &receipt) {
                Ok(decoded) => {
                    chunk.rejected += decoded.rejected;
                    chunk.passed_over += decoded.passed_over;
                    if decoded.spans.num_rows() > 0 {
                        chunk.spans.push(decoded.spans);
                    }
                    if decoded.quarantined.num_rows() > 0 && body.through > self.held.quarantine {
                        chunk.quarantined.push(decoded.quarantined);
                    }
                }
                Err(error) if body.skippable => self.bad.add(body.through, error.to_string()),
                Err(error) => {
                    return Err(FileError::NotOtlp {
                        name: self.content.name.clone(),
                        reason: error.to_string(),
                    });
                }
            }
        }
        Ok(chunk)
    }
}

/// Decodes a body.
fn decode(decoder: &Decoder, body: &Body, receipt: &Receipt<'_>) -> Result<Decoded, DecodeError> {
    let decode = |signal: Kept| signal.decode(decoder, &body.bytes, body.encoding, receipt);
    by_signal(body.signal, decode, |decoded| decoded)
}

fn rows(batches: &[RecordBatch]) -> u64 {
    batches.iter().map(|batch| batch.num_rows() as u64).sum()
}

fn mine(committed: &[Committed], concurrent: impl Fn() -> FileError) -> Result<(), FileError> {
    if committed.iter().all(|share| *share == Committed::Ours) { Ok(()) } else { Err(concurrent()) }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, FileError> + Send + 'static,
) -> Result<T, FileError> {
    let stopped = |error: tokio::task::JoinError| FileError::Read {
        name: "the file".to_owned(),
        source: std::io::Error::other(error),
    };
    tokio::task::spawn_blocking(work).await.map_err(stopped)?
}
