//! The running whole: journal, receivers and flusher, started and ended in the right order.
//!
//! Invariant: whatever way it ends, what was acknowledged is in the lake or in the journal.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use plimsoll_lake::Lake;
use plimsoll_otlp::Decoder;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::accept::Core;
use crate::budget::Budget;
use crate::config::IngestConfig;
use crate::counts::{self, Counts, Ledger};
use crate::dead_letter::DeadLetters;
use crate::error::{FlushError, IngestError};
use crate::flush::{Command, Flushed, Flusher};
use crate::journal::Journal;
use crate::kafka::{Kafka, KafkaStatus, Lane, Parts};
use crate::receive;
use crate::tables::Tables;

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
    flusher: JoinHandle<()>,
    kafka: Option<Kafka>,
    expiring: JoinHandle<()>,
}

/// How ingest ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shutdown {
    /// Spans that the last flush brought into the lake.
    pub flushed: u64,
    /// Spans that stay in the journal for the next start.
    pub left_in_journal: u64,
}

impl Ingest {
    /// Takes the journal, listens, starts to store what the journal held, and to read Kafka. The global
    /// meter provider must be set before, if metrics are to leave.
    ///
    /// # Errors
    /// The journal or the lake can't be used, an address can't be listened on, or Kafka is set up wrongly.
    pub async fn start(config: IngestConfig, lake: Lake, decoder: Arc<Decoder>) -> Result<Self, IngestError> {
        let http = listen(config.http, config.allow_remote).await?;
        let grpc = listen(config.grpc, config.allow_remote).await?;
        let opened = Journal::open(config.journal.clone())?;
        if opened.torn_bytes() > 0 {
            tracing::info!(
                bytes = opened.torn_bytes(),
                "a write that was never acknowledged was cut from the journal"
            );
        }
        let source = format!("otlp/{}", opened.node());
        let tables = Tables::open(&lake).await?;
        let held = tables.held(&source).await?;
        let journal = opened.start(held.spans.max(held.quarantine))?;
        journal.release(held.spans);

        let fallback = config.journal.directory.join("dead");
        let dead_letters = DeadLetters::new(config.dead_letters, fallback)
            .map_err(|error| IngestError::DeadLetters(error.to_string()))?;

        // The largest message must fit, compressed and not, or it would be refused for ever.
        let room = config.limits.in_flight_bytes.max(2 * config.limits.max_message_bytes);
        let (durable, to_flush) = mpsc::unbounded_channel();
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let core = Arc::new(Core {
            decoder,
            journal,
            ledger: Ledger::default(),
            in_flight: Arc::new(Budget::new(room)),
            backlog: Arc::new(Budget::new(config.limits.backlog_bytes)),
            limits: config.limits,
            source,
            decoders: Arc::new(Semaphore::new(processors)),
            durable,
            closing: AtomicBool::new(false),
            flushing: AtomicBool::new(true),
        });
        counts::export(&core);

        let (commands, to_do) = mpsc::channel(16);
        let (told, flushed) = watch::channel(Flushed::default());
        let (kafka, lane) = match config.kafka {
            None => (None, Lane::idle()),
            Some(source) => {
                let parts = Parts {
                    tables: tables.clone(),
                    decoder: Arc::clone(&core.decoder),
                    dead_letters: dead_letters.clone(),
                    max_message_bytes: core.limits.max_message_bytes,
                    node: core.journal.node().to_owned(),
                };
                let (kafka, lane) = Kafka::start(source, parts)?;
                (Some(kafka), lane)
            }
        };
        let flusher =
            Flusher::new(Arc::clone(&core), tables, held, config.flush, to_flush, lane, to_do, told);
        let flusher = tokio::spawn(flusher.run());
        let expiring = tokio::spawn(expire(dead_letters));
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
        self.core.journal.stopped().is_none()
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

    /// Bytes in the journal.
    #[must_use]
    pub fn journal_bytes(&self) -> u64 {
        self.core.journal.bytes()
    }

    /// Tells of each commit, for what is to be done after one.
    #[must_use]
    pub fn flushes(&self) -> watch::Receiver<Flushed> {
        self.flushed.clone()
    }

    /// Brings everything that was acknowledged before this call into the lake, and with it the messages of
    /// Kafka that were read and decoded.
    ///
    /// # Errors
    /// The lake took it not; it stays in the journal and is tried again.
    pub async fn flush(&self) -> Result<(), FlushError> {
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
        self.flusher.abort();
        if let Some(kafka) = self.kafka.take() {
            // Its offsets are with the lake: it may end later than this.
            kafka.end(end.saturating_duration_since(Instant::now())).await;
        }
        let after = self.counts();
        self.core.journal.close();
        let settled = |counts: Counts| counts.stored + counts.quarantined;
        Shutdown { flushed: settled(after) - settled(before), left_in_journal: after.in_flight }
    }
}

impl Drop for Ingest {
    fn drop(&mut self) {
        self.core.closing.store(true, Ordering::Relaxed);
        self.stop.send_replace(true);
        self.flusher.abort();
        self.expiring.abort();
        for receiver in &self.receivers {
            receiver.abort();
        }
        self.core.journal.abandon();
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
