//! The flusher: from durable spans to commits in the lake, and from there to a shorter journal.
//!
//! Spans come in the order of the journal, first those that a former process left there and then the
//! live ones. They are written to files as they fill memory and committed every few seconds, under
//! the journal's last seq among them. A failed flush keeps its rows and is tried again, longer and
//! longer apart; the memory that this takes is what makes the receivers refuse.
//!
//! Invariant: a record is released from the journal only after the commit that holds its spans, and a
//! commit's number covers every record up to it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use arrow::array::RecordBatch;
use plimsoll_otlp::Receipt;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use crate::accept::{Core, Pending, decoded_bytes};
use crate::budget::{Budget, Reservation};
use crate::config::FlushOptions;
use crate::error::FlushError;
use crate::inflate::inflate;
use crate::journal::{Damage, Journal, Record, Replay, Replayed};
use crate::tables::{Committed, Files, Held, Tables};

/// Told after each commit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flushed {
    /// Commits since the start.
    pub commits: u64,
    /// Spans in them.
    pub spans: u64,
}

/// Answers once everything that was acknowledged before is in the lake, or why it is not.
pub(crate) type Command = oneshot::Sender<Result<(), FlushError>>;

/// The flusher's state.
pub(crate) struct Flusher {
    core: Arc<Core>,
    journal: Arc<Journal>,
    tables: Tables,
    held: Held,
    options: FlushOptions,
    durable: mpsc::UnboundedReceiver<Pending>,
    commands: mpsc::Receiver<Command>,
    flushed: watch::Sender<Flushed>,
    batch: Batch,
    /// When to try again, and how long to wait if that fails too.
    retry: Option<(Instant, Duration)>,
}

/// What the next commit holds.
#[derive(Default)]
struct Batch {
    spans: Vec<RecordBatch>,
    quarantined: Vec<RecordBatch>,
    memory: Vec<Reservation>,
    bytes: usize,
    files: Files,
    stored: u64,
    quarantined_rows: u64,
    last_seq: u64,
    since: Option<Instant>,
}

/// Why the flusher can't go on.
#[derive(Debug, thiserror::Error)]
enum Fatal {
    #[error(
        "the lake holds commits of node {0} that this process did not make: restart it, and if it stops \
         again, its journal directory was copied: give each process one of its own"
    )]
    Theirs(String),
    #[error("the journal cannot be read back: {0}")]
    Journal(#[from] crate::journal::JournalError),
}

/// Why one attempt failed.
enum Failed {
    Lake(plimsoll_lake::Error),
    Fatal(Fatal),
}

impl From<plimsoll_lake::Error> for Failed {
    fn from(error: plimsoll_lake::Error) -> Self {
        Self::Lake(error)
    }
}

/// Tells the receivers that there is no flusher any more, however it ended.
struct Ending(Arc<Core>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.flushing.store(false, Ordering::Relaxed);
    }
}

impl Flusher {
    pub(crate) fn new(
        core: Arc<Core>,
        journal: Arc<Journal>,
        tables: Tables,
        held: Held,
        options: FlushOptions,
        durable: mpsc::UnboundedReceiver<Pending>,
        commands: mpsc::Receiver<Command>,
        flushed: watch::Sender<Flushed>,
    ) -> Self {
        Self {
            core,
            journal,
            tables,
            held,
            options,
            durable,
            commands,
            flushed,
            batch: Batch::default(),
            retry: None,
        }
    }

    /// Works until nobody can ask for anything any more, or until it can't.
    pub(crate) async fn run(mut self) {
        let _told = Ending(Arc::clone(&self.core));
        if let Err(fatal) = self.work().await {
            tracing::error!(%fatal, "the writer of the lake has ended");
        }
    }

    async fn work(&mut self) -> Result<(), Fatal> {
        self.replay().await?;
        loop {
            let due = self.due();
            tokio::select! {
                pending = self.durable.recv() => match pending {
                    Some(pending) => self.add(pending).await?,
                    None => return Ok(()),
                },
                () = tokio::time::sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                    let _told_later = self.commit().await?;
                }
                command = self.commands.recv() => match command {
                    Some(command) => {
                        while let Ok(pending) = self.durable.try_recv() {
                            self.add(pending).await?;
                        }
                        let done = self.commit().await?;
                        let _gone = command.send(done);
                    }
                    None => return Ok(()),
                },
            }
        }
    }

    /// When the next commit is to be tried; `None` while there is nothing to commit.
    fn due(&self) -> Option<Instant> {
        let planned = self.batch.since? + self.options.every;
        Some(self.retry.map_or(planned, |(at, _)| at))
    }

    async fn add(&mut self, pending: Pending) -> Result<(), Fatal> {
        self.batch.add(pending);
        let waiting = self.retry.is_some_and(|(at, _)| at > Instant::now());
        if self.batch.bytes >= self.options.file_bytes && !waiting {
            let written = self.batch.write(&self.tables).await;
            let _told_later = self.tried(written.map_err(Failed::Lake))?;
        }
        Ok(())
    }

    /// One attempt to make everything visible that was added.
    async fn commit(&mut self) -> Result<Result<(), FlushError>, Fatal> {
        if self.batch.since.is_none() {
            return Ok(Ok(()));
        }
        let made = self.make().await;
        let ok = made.is_ok();
        let tried = self.tried(made)?;
        self.core.ledger.change(|counts| if ok { counts.flushes += 1 } else { counts.failed_flushes += 1 });
        if ok {
            let counts = self.core.ledger.counts();
            self.flushed.send_replace(Flushed { commits: counts.flushes, spans: counts.stored });
        }
        Ok(tried)
    }

    async fn make(&mut self) -> Result<(), Failed> {
        self.batch.write(&self.tables).await?;
        let (source, ledger, last_seq) = (&self.core.source, &self.core.ledger, self.batch.last_seq);
        if !self.batch.files.quarantine.is_empty() {
            let files = &self.batch.files.quarantine;
            let committed =
                self.tables.commit_quarantine(files, source, self.held.quarantine, last_seq).await?;
            self.mine(committed).await?;
            self.held.quarantine = last_seq;
            self.batch.files.quarantine.clear();
            let rows = std::mem::take(&mut self.batch.quarantined_rows);
            ledger.change(|counts| {
                counts.quarantined += rows;
                counts.in_flight -= rows;
            });
        }
        let files = &self.batch.files.spans;
        let committed = self.tables.commit_spans(files, source, self.held.spans, last_seq).await?;
        self.mine(committed).await?;
        self.held.spans = last_seq;
        let rows = self.batch.stored;
        ledger.change(|counts| {
            counts.stored += rows;
            counts.in_flight -= rows;
        });
        self.batch = Batch::default();
        self.journal.release(last_seq);
        Ok(())
    }

    async fn mine(&self, committed: Committed) -> Result<(), Failed> {
        match committed {
            Committed::Ours => Ok(()),
            Committed::Theirs => {
                let found = self.tables.held(&self.core.source).await?;
                self.journal.refuse(self.held.spans, found.spans.max(found.quarantine));
                Err(Failed::Fatal(Fatal::Theirs(self.journal.node().to_owned())))
            }
        }
    }

    /// Notes how an attempt went, and when to make the next.
    fn tried(&mut self, result: Result<(), Failed>) -> Result<Result<(), FlushError>, Fatal> {
        match result {
            Ok(()) => {
                self.retry = None;
                Ok(Ok(()))
            }
            Err(Failed::Fatal(fatal)) => Err(fatal),
            Err(Failed::Lake(error)) => {
                let (shortest, longest) = self.options.retry;
                let wait = self.retry.map_or(shortest, |(_, last)| (last * 2).min(longest));
                self.retry = Some((Instant::now() + wait, wait));
                tracing::warn!(%error, wait_ms = wait.as_millis(), "a flush failed and will be tried again");
                Ok(Err(FlushError(error.to_string())))
            }
        }
    }

    /// Stores what a former process left in the journal.
    async fn replay(&mut self) -> Result<(), Fatal> {
        let mut replay = self.journal.replay(self.held.spans);
        let mut records = 0_u64;
        loop {
            let (core, journal, held) = (Arc::clone(&self.core), Arc::clone(&self.journal), self.held);
            let read = tokio::task::spawn_blocking(move || {
                let item = next(&core, &journal, held, &mut replay);
                (replay, item)
            });
            let Ok((rest, item)) = read.await else { return Ok(()) };
            replay = rest;
            match item? {
                Some(pending) => self.add(pending).await?,
                None => break,
            }
            records += 1;
            // What does not fit in memory waits on the disk.
            while self.batch.bytes >= self.options.file_bytes
                || self.due().is_some_and(|due| due <= Instant::now())
            {
                if self.commit().await?.is_err()
                    && let Some((at, _)) = self.retry
                {
                    tokio::time::sleep_until(at).await;
                }
            }
        }
        if records > 0 {
            tracing::info!(records, "records of the journal were read back");
        }
        Ok(())
    }
}

impl Batch {
    fn add(&mut self, pending: Pending) {
        let Pending { seq, spans, quarantined, held } = pending;
        self.last_seq = seq;
        self.since.get_or_insert_with(Instant::now);
        self.bytes += spans.get_array_memory_size() + quarantined.get_array_memory_size();
        self.memory.push(held);
        self.stored += spans.num_rows() as u64;
        self.quarantined_rows += quarantined.num_rows() as u64;
        if spans.num_rows() > 0 {
            self.spans.push(spans);
        }
        if quarantined.num_rows() > 0 {
            self.quarantined.push(quarantined);
        }
    }

    /// Turns the rows in memory into files.
    async fn write(&mut self, tables: &Tables) -> Result<(), plimsoll_lake::Error> {
        if !self.spans.is_empty() {
            self.files.spans.extend(tables.write_spans(&self.spans).await?);
            self.spans.clear();
        }
        if !self.quarantined.is_empty() {
            self.files.quarantine.extend(tables.write_quarantine(&self.quarantined).await?);
            self.quarantined.clear();
        }
        self.memory.clear();
        self.bytes = 0;
        Ok(())
    }
}

/// The next record of a replay that still gives spans; `None` at the end.
fn next(core: &Core, journal: &Journal, held: Held, replay: &mut Replay) -> Result<Option<Pending>, Fatal> {
    loop {
        let Some(item) = replay.next().transpose()? else { return Ok(None) };
        match item {
            Replayed::Damaged(damage) => report(core, journal, &damage),
            Replayed::Record(record) => match again(core, held, &record) {
                Ok(pending) => return Ok(Some(pending)),
                Err(reason) => {
                    tracing::error!(
                        seq = record.seq,
                        reason,
                        "a record of the journal cannot be decoded any more"
                    );
                    core.ledger.change(|counts| counts.damaged += 1);
                    if let Some(segment) = replay.segment() {
                        journal.set_aside(segment);
                    }
                }
            },
        }
    }
}

/// Decodes a record as it was decoded before it was acknowledged.
fn again(core: &Core, held: Held, record: &Record) -> Result<Pending, String> {
    let entry = &record.entry;
    // It was within the limits when it was acknowledged; those of today must not lose it.
    let unlimited = usize::MAX - 1;
    let mut memory = Arc::new(Budget::new(usize::MAX)).take(0);
    let body =
        inflate(entry.coding, &entry.body, unlimited, &mut memory).map_err(|error| error.to_string())?;
    let receipt = Receipt { received_unix_micros: entry.received_unix_micros, source: &core.source };
    let mut decoded = entry
        .signal
        .decode(&core.decoder, &body, entry.encoding, &receipt)
        .map_err(|error| error.to_string())?;
    if record.seq <= held.quarantine {
        decoded.quarantined = decoded.quarantined.slice(0, 0);
    }
    let rows = (decoded.spans.num_rows() + decoded.quarantined.num_rows()) as u64;
    core.ledger.change(|counts| {
        counts.received += rows;
        counts.in_flight += rows;
    });
    let held = core.backlog.take(decoded_bytes(&decoded));
    Ok(Pending { seq: record.seq, spans: decoded.spans, quarantined: decoded.quarantined, held })
}

fn report(core: &Core, journal: &Journal, damage: &Damage) {
    let Damage { segment, from, to, seq } = damage;
    tracing::error!(segment = %segment.display(), from, to, seq, "part of the journal is damaged and its spans are lost");
    core.ledger.change(|counts| counts.damaged += 1);
    journal.set_aside(segment);
}
