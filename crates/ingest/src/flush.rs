//! The flusher: from durable spans to commits in the lake, and from there to a shorter journal.
//!
//! Spans come in two lanes, each in its own order: acknowledged requests in the order of the journal (first
//! those that a former process left there), and messages of Kafka by partition. Rows are written to files
//! as they fill memory, each lane's to its own, and committed every few seconds: one commit a table for
//! both lanes, however many sources there are. A failed flush keeps its rows and is tried again, longer and
//! longer apart; the memory that this takes is what makes the receivers refuse and Kafka wait.
//!
//! Invariant: a record is released from the journal only after the commit that holds its spans, and a
//! commit's numbers cover every record and message up to them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use crate::accept::{Core, Pending};
use crate::config::FlushOptions;
use crate::dead_letter::DeadLetters;
use crate::error::FlushError;
use crate::journal::Journal;
use crate::journal_lane::JournalLane;
use crate::kafka::{Arrival, Lane};
use crate::read_back::{self, Item};
use crate::rows::Rows;
use crate::tables::{Committed, Held, Share, Tables};

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
    tables: Tables,
    options: FlushOptions,
    durable: mpsc::UnboundedReceiver<Pending>,
    commands: mpsc::Receiver<Command>,
    flushed: watch::Sender<Flushed>,
    journal: JournalLane,
    kafka: Lane,
    dead_letters: DeadLetters,
    /// When to try again, and how long to wait if that fails too.
    retry: Option<(Instant, Duration)>,
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
    #[expect(clippy::too_many_arguments, reason = "the whole's parts are handed over once, at the start")]
    pub(crate) fn new(
        core: Arc<Core>,
        journal: Arc<Journal>,
        tables: Tables,
        held: Held,
        options: FlushOptions,
        durable: mpsc::UnboundedReceiver<Pending>,
        kafka: Lane,
        dead_letters: DeadLetters,
        commands: mpsc::Receiver<Command>,
        flushed: watch::Sender<Flushed>,
    ) -> Self {
        let journal = JournalLane::new(journal, core.source.clone(), held);
        Self { core, tables, options, durable, commands, flushed, journal, kafka, dead_letters, retry: None }
    }

    /// Works until nobody can ask for anything any more, or until it can't.
    pub(crate) async fn run(mut self) {
        let _told = Ending(Arc::clone(&self.core));
        if let Err(fatal) = self.work().await {
            tracing::error!(%fatal, "the writer of the lake has ended");
        }
    }

    async fn work(&mut self) -> Result<(), Fatal> {
        self.read_back().await?;
        loop {
            let due = self.due();
            let kafka_has_room = self.kafka_has_room();
            tokio::select! {
                pending = self.durable.recv() => match pending {
                    Some(pending) => self.add(pending).await?,
                    None => return Ok(()),
                },
                arrival = self.kafka.arrival(), if kafka_has_room => self.arrive(arrival).await?,
                () = tokio::time::sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                    let _told_later = self.commit().await?;
                }
                command = self.commands.recv() => match command {
                    Some(command) => {
                        let done = self.flush().await?;
                        let _gone = command.send(done);
                    }
                    None => return Ok(()),
                },
            }
        }
    }

    /// Commits all that has come.
    async fn flush(&mut self) -> Result<Result<(), FlushError>, Fatal> {
        while let Ok(pending) = self.durable.try_recv() {
            self.add(pending).await?;
        }
        // No more than is there now: while topics are caught up with, more comes all the time.
        for _ in 0..self.kafka.waiting() {
            if !self.kafka_has_room() {
                break;
            }
            if let Some(arrival) = self.kafka.arrived() {
                self.arrive(arrival).await?;
            }
        }
        self.commit_all().await
    }

    /// Commits until nothing waits, or the lake fails.
    async fn commit_all(&mut self) -> Result<Result<(), FlushError>, Fatal> {
        while self.since().is_some() {
            let committed = self.commit().await?;
            if committed.is_err() {
                return Ok(committed);
            }
        }
        Ok(Ok(()))
    }

    /// When the first row came that waits for a commit.
    fn since(&self) -> Option<Instant> {
        [self.journal.since(), self.kafka.since()].into_iter().flatten().min()
    }

    /// When the next commit is to be tried; `None` while there is nothing to commit.
    fn due(&self) -> Option<Instant> {
        let planned = self.since()? + self.options.every;
        Some(self.retry.map_or(planned, |(at, _)| at))
    }

    /// Whether messages are taken: while the lake fails, no more than a file holds.
    fn kafka_has_room(&self) -> bool {
        self.retry.is_none() || self.kafka.taken() < self.options.file_bytes
    }

    async fn add(&mut self, pending: Pending) -> Result<(), Fatal> {
        self.journal.add(pending);
        self.write_full().await
    }

    async fn arrive(&mut self, arrival: Arrival) -> Result<(), Fatal> {
        match arrival {
            Arrival::Placed { epoch, sources } => self.kafka.place(epoch, sources),
            Arrival::Portion(portion) => {
                self.kafka.take(*portion, &self.core.ledger);
                self.write_full().await?;
            }
            Arrival::Barrier(reached) => {
                let _tried_later = self.commit_all().await?;
                let _gone = reached.send(());
            }
        }
        Ok(())
    }

    /// Writes the lane that holds a file's worth. While the lake fails rows stay in memory, where they are
    /// bounded.
    async fn write_full(&mut self) -> Result<(), Fatal> {
        if self.retry.is_some() {
            return Ok(());
        }
        let full = |rows: &&mut Rows| rows.bytes >= self.options.file_bytes;
        let lanes = [&mut self.journal.rows, &mut self.kafka.rows];
        let Some(rows) = lanes.into_iter().find(full) else { return Ok(()) };
        let written = rows.write(&self.tables).await;
        self.tried(written.map_err(Failed::Lake)).map(|_told_later| ())
    }

    /// One attempt to make the batches visible: those that were offered before, or else all that was added.
    async fn commit(&mut self) -> Result<Result<(), FlushError>, Fatal> {
        if self.since().is_none() {
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
        self.journal.seal(&self.tables).await?;
        self.kafka.seal(&self.tables).await?;
        let ledger = &self.core.ledger;

        let offered = Offer::of(self.journal.quarantine_share(), self.kafka.quarantine_share());
        let (journal, kafka) = offered.taken(self.tables.commit_quarantine(&offered.shares).await?);
        match kafka {
            Some(Committed::Ours) => self.kafka.quarantine_committed(ledger),
            Some(Committed::Theirs { .. }) => self.kafka.rewind(ledger),
            None => {}
        }
        if self.mine(journal)? {
            self.journal.quarantine_committed(ledger);
        }

        let offered = Offer::of(self.journal.spans_share(), self.kafka.spans_share());
        let (journal, kafka) = offered.taken(self.tables.commit_spans(&offered.shares).await?);
        match kafka {
            Some(Committed::Ours) => self.kafka.spans_committed(ledger),
            Some(Committed::Theirs { .. }) => self.kafka.rewind(ledger),
            None => {}
        }
        if self.mine(journal)? {
            self.journal.spans_committed(ledger);
        }
        Ok(())
    }

    /// Whether the journal's share is in the table. Nobody but this process may write under its name.
    fn mine(&self, committed: Option<Committed>) -> Result<bool, Failed> {
        match committed {
            None => Ok(false),
            Some(Committed::Ours) => Ok(true),
            Some(Committed::Theirs { found }) => {
                Err(Failed::Fatal(Fatal::Theirs(self.journal.refuse(found).to_owned())))
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
    async fn read_back(&mut self) -> Result<(), Fatal> {
        let mut replay = self.journal.replay();
        let mut records = 0_u64;
        loop {
            let (core, journal) = (Arc::clone(&self.core), Arc::clone(self.journal.journal()));
            let held = self.journal.held();
            let read = tokio::task::spawn_blocking(move || {
                let item = read_back::next(&core, &journal, held, &mut replay);
                (replay, item)
            });
            let Ok((rest, item)) = read.await else { return Ok(()) };
            replay = rest;
            match item? {
                Some(Item::Pending(pending)) => self.add(pending).await?,
                Some(Item::Undecodable { letter, segment }) => {
                    let journal = self.journal.journal();
                    read_back::keep(&self.core, journal, &self.dead_letters, &letter, segment.as_deref())
                        .await;
                }
                None => break,
            }
            records += 1;
            // What does not fit in memory waits on the disk.
            while self.journal.rows.bytes >= self.options.file_bytes
                || self.due().is_some_and(|due| due <= Instant::now())
            {
                if self.commit_all().await?.is_err()
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

/// The shares of both lanes in one commit.
struct Offer {
    journal: bool,
    shares: Vec<Share>,
}

impl Offer {
    fn of(journal: Option<Share>, kafka: Option<Share>) -> Self {
        Self { journal: journal.is_some(), shares: journal.into_iter().chain(kafka).collect() }
    }

    /// What came of the journal's share and of Kafka's, where they were offered.
    fn taken(&self, committed: Vec<Committed>) -> (Option<Committed>, Option<Committed>) {
        let mut committed = committed.into_iter();
        let journal = if self.journal { committed.next() } else { None };
        (journal, committed.next())
    }
}
