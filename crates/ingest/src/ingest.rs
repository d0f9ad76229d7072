//! The running whole: log, receivers and flusher, each where it is wanted, started and ended in the right order.
//!
//! Invariant: whatever way it ends, what was acknowledged is in the lake or in the journal.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use plimsoll_lake::Lake;
use plimsoll_otlp::Decoder;
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::accept::{Core, Log};
use crate::budget::Budget;
use crate::config::{IngestConfig, LogKind};
use crate::counts::{self, Counts, Ledger};
use crate::dead_letter::DeadLetters;
use crate::error::{FlushError, IngestError};
use crate::flush::{Command, Flushed, Flusher};
use crate::journal::{Journal, JournalOptions};
use crate::kafka::{Kafka, KafkaStatus, Lane, Parts, Producer};
use crate::receive;
use crate::tables::{Held, Tables};

/// From one look for old dead letters to the next.
const EXPIRE_EVERY: Duration = Duration::from_secs(3600);

/// OTLP in, spans in the lake.
///
/// Dropping it is what a crash would be: nothing more is flushed, and the next start finds in the
/// journal what was acknowledged. [`Ingest::shutdown`] is the clean end.
#[derive(Debug)]
pub struct Ingest {
    core: Arc<Core>,
    grpc: Option<SocketAddr>,
    http: Option<SocketAddr>,
    commands: mpsc::Sender<Command>,
    flushed: watch::Receiver<Flushed>,
    stop: watch::Sender<bool>,
    receivers: Vec<JoinHandle<()>>,
    /// None where this process writes no lake.
    flusher: Option<JoinHandle<()>>,
    kafka: Option<Kafka>,
    expiring: Option<JoinHandle<()>>,
}

/// How ingest ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shutdown {
    /// Spans that the last flush brought into the lake.
    pub flushed: u64,
    /// Spans that stay in the journal for the next start, as far as they are known.
    pub left_in_journal: u64,
    /// Requests besides those that an earlier process left there and this one has not read back; how many
    /// spans they hold is not known.
    pub unread: u64,
}

impl Ingest {
    /// Takes the journal, listens, starts to store what the journal held, and to read Kafka. Without a lake
    /// nothing is stored: requests are received into a topic, for other processes. Without addresses nothing
    /// is received. The global meter provider must be set before, if metrics are to leave.
    ///
    /// # Errors
    /// The journal or the lake can't be used, an address can't be listened on, Kafka is set up wrongly, or
    /// there is no lake and no topic either.
    pub async fn start(
        config: IngestConfig,
        lake: impl Into<Option<Lake>>,
        decoder: Arc<Decoder>,
    ) -> Result<Self, IngestError> {
        let http = listen(config.http, config.allow_remote).await?;
        let grpc = listen(config.grpc, config.allow_remote).await?;
        let fallback = config.journal.directory.join("dead");
        let writing = match lake.into() {
            Some(lake) => Some(Writing::open(config.journal, &lake).await?),
            None if Journal::holds_records(&config.journal.directory) => {
                return Err(IngestError::LeftInJournal(config.journal.directory));
            }
            None => None,
        };
        let journal = writing.as_ref().map(|writing| Arc::clone(&writing.journal));
        // The largest message must fit, compressed and not, or it would be refused for ever.
        let room = config.limits.in_flight_bytes.max(2 * config.limits.max_message_bytes);
        let (durable, to_flush) = mpsc::unbounded_channel();
        let log = match (config.log, &journal) {
            (LogKind::Kafka(log), _) => Log::Kafka(Producer::start(log, room)?),
            (LogKind::Disk, Some(journal)) => Log::Disk(Arc::clone(journal)),
            (LogKind::Disk, None) => return Err(IngestError::NothingWrites),
        };
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let core = Arc::new(Core {
            decoder,
            log,
            journal,
            ledger: Ledger::default(),
            in_flight: Arc::new(Budget::new(room)),
            backlog: Arc::new(Budget::new(config.limits.backlog_bytes)),
            limits: config.limits,
            source: writing.as_ref().map(|writing| writing.source.clone()).unwrap_or_default(),
            decoders: Arc::new(Semaphore::new(processors)),
            durable,
            closing: AtomicBool::new(false),
            flushing: AtomicBool::new(true),
        });
        counts::export(&core);

        let (commands, to_do) = mpsc::channel(16);
        let (told, flushed) = watch::channel(Flushed::default());
        let (mut kafka, mut flusher, mut expiring) = (None, None, None);
        if let Some(Writing { journal, tables, held, .. }) = writing {
            // What is spawned from here to the end of the block works there.
            let _there = config.write_on.as_ref().map(Handle::enter);
            let dead_letters = DeadLetters::new(config.dead_letters, fallback)
                .map_err(|error| IngestError::DeadLetters(error.to_string()))?;
            let mut lane = Lane::idle();
            if let Some(source) = config.kafka {
                let parts = Parts {
                    tables: tables.clone(),
                    decoder: Arc::clone(&core.decoder),
                    dead_letters: dead_letters.clone(),
                    max_message_bytes: core.limits.max_message_bytes,
                    node: journal.node().to_owned(),
                };
                let started = Kafka::start(source, parts)?;
                kafka = Some(started.0);
                lane = started.1;
            }
            let core = Arc::clone(&core);
            let letters = dead_letters.clone();
            let writer =
                Flusher::new(core, journal, tables, held, config.flush, to_flush, lane, letters, to_do, told);
            flusher = Some(tokio::spawn(writer.run()));
            expiring = Some(tokio::spawn(expire(dead_letters)));
        }
        let (stop, stopped) = watch::channel(false);
        let mut ingest = Self {
            core,
            grpc: None,
            http: None,
            commands,
            flushed,
            stop,
            receivers: Vec::new(),
            flusher,
            kafka,
            expiring,
        };
        if let Some((listener, address)) = http {
            ingest.http = Some(address);
            let served = receive::serve_http(Arc::clone(&ingest.core), listener, wait(stopped.clone()));
            ingest.receivers.push(tokio::spawn(async move { ended("OTLP/HTTP", served.await) }));
        }
        if let Some((listener, address)) = grpc {
            ingest.grpc = Some(address);
            let served = receive::serve_grpc(Arc::clone(&ingest.core), listener, wait(stopped));
            ingest.receivers.push(tokio::spawn(async move { ended("OTLP/gRPC", served.await) }));
        }
        Ok(ingest)
    }

    /// Where OTLP/gRPC listens.
    #[must_use]
    pub fn grpc_addr(&self) -> Option<SocketAddr> {
        self.grpc
    }

    /// Where OTLP/HTTP listens.
    #[must_use]
    pub fn http_addr(&self) -> Option<SocketAddr> {
        self.http
    }

    /// Whether a request would be taken now.
    #[must_use]
    pub fn ready(&self) -> bool {
        self.not_ready().is_none()
    }

    /// Why no request would be taken now, or why Kafka is not read; `None` where all is well.
    #[must_use]
    pub fn not_ready(&self) -> Option<String> {
        let refused = self.core.admit().err().map(|refusal| refusal.to_string());
        refused.or_else(|| self.kafka.as_ref()?.problem())
    }

    /// Whether it can still do its work without a restart.
    #[must_use]
    pub fn alive(&self) -> bool {
        self.core.journal.as_ref().is_none_or(|journal| journal.stopped().is_none())
            && self.core.flushing.load(Ordering::Relaxed)
            && (self.core.closing.load(Ordering::Relaxed)
                || self.receivers.iter().all(|task| !task.is_finished())
                    && self.kafka.as_ref().is_none_or(Kafka::alive))
    }

    /// The numbers of this instant.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.core.ledger.counts()
    }

    /// How reading from Kafka goes; `None` where none is read.
    #[must_use]
    pub fn kafka(&self) -> Option<KafkaStatus> {
        self.kafka.as_ref().map(Kafka::status)
    }

    /// Bytes in the journal on the disk.
    #[must_use]
    pub fn journal_bytes(&self) -> u64 {
        self.core.journal.as_ref().map_or(0, |journal| journal.bytes())
    }

    /// Bytes of decoded spans in memory that wait to be written to the lake.
    #[must_use]
    pub fn backlog_bytes(&self) -> usize {
        self.core.backlog.used()
    }

    /// Tells of each commit, for what is to be done after one.
    #[must_use]
    pub fn flushes(&self) -> watch::Receiver<Flushed> {
        self.flushed.clone()
    }

    /// Brings everything that was acknowledged before this call into the lake, and with it the messages of
    /// Kafka that were read and decoded. Where another process writes it, there is nothing to bring.
    ///
    /// # Errors
    /// The lake took it not; it stays in the journal and is tried again.
    pub async fn flush(&self) -> Result<(), FlushError> {
        if self.flusher.is_none() {
            return Ok(());
        }
        let ended = || FlushError("its writer has ended".to_owned());
        let (answer, answered) = oneshot::channel();
        self.commands.send(answer).await.map_err(|_| ended())?;
        answered.await.map_err(|_| ended())?
    }

    /// Refuses new requests, answers those that were taken, reads no more of Kafka, flushes, and lets the
    /// partitions and the journal go, all within `deadline`.
    pub async fn shutdown(mut self, deadline: Duration) -> Shutdown {
        let end = Instant::now() + deadline;
        self.core.closing.store(true, Ordering::Relaxed);
        self.stop.send_replace(true);
        // What is being received has half of the time, so that flushing has the other.
        let answered = Instant::now() + deadline / 2;
        for mut receiver in std::mem::take(&mut self.receivers) {
            if tokio::time::timeout_at(answered, &mut receiver).await.is_err() {
                receiver.abort();
            }
        }
        if let Some(kafka) = &mut self.kafka
            && tokio::time::timeout_at(answered, kafka.finish()).await.is_err()
        {
            tracing::info!(
                "messages that were read and not decoded in time are read again by the next reader"
            );
        }
        let before = self.counts();
        match tokio::time::timeout_at(end, self.flush()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the last flush failed"),
            Err(_) => tracing::warn!("the last flush did not end in time"),
        }
        if let Some(mut flusher) = self.flusher.take() {
            flusher.abort();
            // What it was doing when it was told to end may still have counted.
            let _cancelled = (&mut flusher).await;
        }
        if let Some(kafka) = self.kafka.take() {
            // Its offsets are with the lake: it may end later than this.
            kafka.end(end.saturating_duration_since(Instant::now())).await;
        }
        // The last records are acknowledged as the journal closes.
        if let Some(journal) = &self.core.journal {
            journal.close();
        }
        let after = self.counts();
        let settled = |counts: Counts| counts.stored + counts.quarantined;
        Shutdown {
            flushed: settled(after) - settled(before),
            left_in_journal: after.in_flight,
            unread: self.core.journal.as_ref().map_or(0, |journal| journal.unread()),
        }
    }
}

impl Drop for Ingest {
    fn drop(&mut self) {
        self.core.closing.store(true, Ordering::Relaxed);
        self.stop.send_replace(true);
        for task in self.flusher.iter().chain(&self.expiring) {
            task.abort();
        }
        for receiver in &self.receivers {
            receiver.abort();
        }
        if let Some(journal) = &self.core.journal {
            journal.abandon();
        }
    }
}

/// What a process has that writes the lake.
struct Writing {
    journal: Arc<Journal>,
    /// In whose name its commits are.
    source: String,
    tables: Tables,
    held: Held,
}

impl Writing {
    async fn open(options: JournalOptions, lake: &Lake) -> Result<Self, IngestError> {
        let opened = Journal::open(options)?;
        if opened.torn_bytes() > 0 {
            tracing::info!(
                bytes = opened.torn_bytes(),
                "a write that was never acknowledged was cut from the journal"
            );
        }
        let source = format!("otlp/{}", opened.node());
        let tables = Tables::open(lake).await?;
        let held = tables.held(&source).await?;
        let journal = opened.start(held.spans.max(held.quarantine))?;
        journal.release(held.spans);
        Ok(Self { journal: Arc::new(journal), source, tables, held })
    }
}

/// Deletes old dead letters, now and then.
async fn expire(dead_letters: DeadLetters) {
    let mut every = tokio::time::interval(EXPIRE_EVERY);
    loop {
        every.tick().await;
        if let Err(error) = dead_letters.expire().await {
            tracing::warn!(%error, "old dead letters are not deleted");
        }
    }
}

async fn listen(
    address: Option<SocketAddr>,
    allow_remote: bool,
) -> Result<Option<(TcpListener, SocketAddr)>, IngestError> {
    let Some(address) = address else { return Ok(None) };
    if !address.ip().is_loopback() && !allow_remote {
        return Err(IngestError::NotLoopback(address));
    }
    let failed = |source| IngestError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    Ok(Some((listener, bound)))
}

async fn wait(mut stopped: watch::Receiver<bool>) {
    // An error means that ingest was dropped, which ends serving too.
    let _dropped = stopped.wait_for(|stop| *stop).await;
}

fn ended<E: std::fmt::Display>(what: &str, result: Result<(), E>) {
    if let Err(error) = result {
        tracing::error!(%error, "{what} has ended");
    }
}
