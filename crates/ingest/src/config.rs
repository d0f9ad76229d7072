//! How ingest is set up: addresses, limits, the rhythm of flushing.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use tokio::runtime::Handle;

use crate::dead_letter::DeadLetterOptions;
use crate::journal::JournalOptions;
use crate::kafka::{KafkaLog, KafkaSource};

/// What [`crate::Ingest::start`] is told.
#[derive(Debug, Clone)]
pub struct IngestConfig {
    /// Where OTLP/gRPC listens; `None` for not at all. Port 0 takes a free one.
    pub grpc: Option<SocketAddr>,
    /// Where OTLP/HTTP listens; `None` for not at all.
    pub http: Option<SocketAddr>,
    /// Whether an address that other machines can reach is taken. There is neither TLS nor a token yet,
    /// so whoever reaches it can send.
    pub allow_remote: bool,
    /// What makes a request durable before it is acknowledged.
    pub log: LogKind,
    /// The journal on the disk. Whoever writes the lake has one, for what is left there, though requests go
    /// elsewhere.
    pub journal: JournalOptions,
    /// What a request and all of them together may take.
    pub limits: Limits,
    /// When the lake is written.
    pub flush: FlushOptions,
    /// Topics to read; `None` for none.
    pub kafka: Option<KafkaSource>,
    /// Where what gives no rows is kept.
    pub dead_letters: DeadLetterOptions,
    /// Threads on which the lake is written and Kafka is read; without them, those that receive.
    pub write_on: Option<Handle>,
}

/// What makes a request durable before it is acknowledged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum LogKind {
    /// The journal on the disk, which this process brings into the lake.
    #[default]
    Disk,
    /// A topic, which any number of processes bring into the lake: see [`IngestConfig::kafka`].
    Kafka(KafkaLog),
}

/// Bounds of memory and time. Past the first a request is refused for good, past the others it is to
/// be sent again.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Bytes of one request once decompressed. 64 MiB is what the OTLP specification recommends.
    pub max_message_bytes: usize,
    /// Bytes of all requests that are being received or decoded; at least two of the largest message.
    pub in_flight_bytes: usize,
    /// Bytes of decoded spans that wait to be written to the lake.
    pub backlog_bytes: usize,
    /// How long a request's body may take to arrive.
    pub body_timeout: Duration,
    /// Age at which a gRPC connection is asked to reconnect, so that a load balancer can spread them.
    pub connection_age: Duration,
}

/// When spans become files, and files a commit.
#[derive(Debug, Clone)]
pub struct FlushOptions {
    /// Longest wait of an acknowledged span for the commit that shows it to readers.
    pub every: Duration,
    /// Bytes of decoded spans that are written as Parquet without waiting for the commit.
    pub file_bytes: usize,
    /// Shortest and longest wait before a failed flush is tried again.
    pub retry: (Duration, Duration),
}

impl IngestConfig {
    /// The defaults: gRPC on 127.0.0.1:4317, HTTP on 127.0.0.1:4318, the journal in a directory and dead
    /// letters in its folder `dead`, no Kafka.
    pub fn new(journal: impl Into<PathBuf>) -> Self {
        let journal = JournalOptions::new(journal);
        Self {
            grpc: Some(SocketAddr::from(([127, 0, 0, 1], 4317))),
            http: Some(SocketAddr::from(([127, 0, 0, 1], 4318))),
            allow_remote: false,
            dead_letters: DeadLetterOptions::new(journal.directory.join("dead")),
            log: LogKind::Disk,
            journal,
            limits: Limits::default(),
            flush: FlushOptions::default(),
            kafka: None,
            write_on: None,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_message_bytes: 64 << 20,
            in_flight_bytes: 160 << 20,
            backlog_bytes: 160 << 20,
            body_timeout: Duration::from_secs(30),
            connection_age: Duration::from_secs(30 * 60),
        }
    }
}

impl Default for FlushOptions {
    fn default() -> Self {
        Self {
            every: Duration::from_secs(5),
            file_bytes: 64 << 20,
            retry: (Duration::from_millis(250), Duration::from_secs(30)),
        }
    }
}
