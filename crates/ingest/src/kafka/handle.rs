//! The source as a whole: the thread that reads, the tasks that decode, and the two ends of its channels.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use plimsoll_otlp::Decoder;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use super::consumer;
use super::decode::Opener;
use super::lane::Lane;
use super::options::{KafkaSource, KafkaSourceError};
use super::order::Order;
use super::pipeline;
use super::reader::{Reader, State};
use super::status::{self, KafkaStatus, Status};
use crate::dead_letter::DeadLetters;
use crate::tables::Tables;

/// Portions that wait for the flusher, beside those in the making.
const WAITING: usize = 2;

/// A running source. Dropping it is what a crash would be.
#[derive(Debug)]
pub(crate) struct Kafka {
    orders: mpsc::UnboundedSender<Order>,
    status: Arc<Status>,
    thread: JoinHandle<()>,
    decoding: tokio::task::JoinHandle<()>,
}

/// What the source needs of the whole.
pub(crate) struct Parts {
    pub(crate) tables: Tables,
    pub(crate) decoder: Arc<Decoder>,
    pub(crate) dead_letters: DeadLetters,
    pub(crate) max_message_bytes: usize,
    /// The process's name, the same after a restart.
    pub(crate) node: String,
}

impl Kafka {
    /// Starts to read; gives what the flusher takes.
    ///
    /// # Errors
    /// The settings are wrong. A cluster that can't be reached is none: it is waited for.
    pub(crate) fn start(source: KafkaSource, parts: Parts) -> Result<(Self, Lane), KafkaSourceError> {
        source.check()?;
        let Parts { tables, decoder, dead_letters, max_message_bytes, node } = parts;
        let status = Arc::new(Status::default());
        let first = consumer::create(&source, &node, &status)?;
        status::export(&status);
        let (orders, to_obey) = mpsc::unbounded_channel();
        let (out, parcels) = mpsc::unbounded_channel();
        let (arrivals, to_take) = mpsc::channel(WAITING);
        let opener = Arc::new(Opener { decoder, encoding: source.encoding, max_message_bytes });
        let decoding =
            tokio::spawn(pipeline::run(parcels, opener, dead_letters, Arc::clone(&status), arrivals));
        let reader = Reader {
            source,
            instance: node,
            tables,
            runtime: Handle::current(),
            status: Arc::clone(&status),
            orders: to_obey,
            answers: orders.downgrade(),
            out: Some(out),
            state: State::default(),
        };
        let thread = std::thread::Builder::new().name("kafka".to_owned()).spawn(move || reader.run(first));
        let thread = thread.map_err(|error| KafkaSourceError::Client(error.to_string()))?;
        let lane = Lane::new(to_take, orders.clone());
        Ok((Self { orders, status, thread, decoding }, lane))
    }

    /// How it goes.
    pub(crate) fn status(&self) -> KafkaStatus {
        self.status.get()
    }

    /// What is in the way; `None` while all is well.
    pub(crate) fn problem(&self) -> Option<String> {
        self.status.problem()
    }

    /// Whether it can still read without a restart.
    pub(crate) fn alive(&self) -> bool {
        !self.thread.is_finished() && !self.decoding.is_finished()
    }

    /// Reads no more, and waits until what was read is with the flusher.
    pub(crate) async fn finish(&mut self) {
        let _ended = self.orders.send(Order::Finish);
        let _ended = (&mut self.decoding).await;
    }

    /// Leaves the group's partitions to whoever comes next under this name, or to the others once the
    /// session has ended, and waits for that, but not for ever.
    pub(crate) async fn end(self, limit: Duration) {
        let _ended = self.orders.send(Order::End);
        let waited = async {
            while !self.thread.is_finished() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        if tokio::time::timeout(limit, waited).await.is_err() {
            tracing::warn!("the Kafka client did not end in time");
        }
    }
}

impl Drop for Kafka {
    fn drop(&mut self) {
        let _ended = self.orders.send(Order::End);
        self.decoding.abort();
    }
}
