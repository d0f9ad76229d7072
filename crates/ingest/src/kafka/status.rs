//! How reading from Kafka goes: numbers for people and meters, and what is in the way.
//!
//! Exported through the global meter `plimsoll.ingest`:
//!
//! | metric | kind | attributes | counts |
//! |---|---|---|---|
//! | `plimsoll.ingest.kafka.messages` | counter | | messages read |
//! | `plimsoll.ingest.kafka.size` | counter | | bytes of them |
//! | `plimsoll.ingest.kafka.rebalances` | counter | | times that partitions came or went |
//! | `plimsoll.ingest.kafka.rewinds` | counter | | times that reading went back to where the lake is |
//! | `plimsoll.ingest.kafka.missed` | counter | | offsets that had expired from their topics before they were read |
//! | `plimsoll.ingest.kafka.position` | gauge | `topic`, `partition` | offset up to which the lake holds messages |
//! | `plimsoll.ingest.kafka.lag` | gauge | `topic`, `partition` | messages of the partition that the lake holds not |
//! | `plimsoll.ingest.kafka.paused` | gauge | | 1 while nothing is read because the lake is behind |
//! | `plimsoll.ingest.kafka.connected` | gauge | | 1 while nothing is in the way |

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use opentelemetry::KeyValue;
use opentelemetry::metrics::Meter;

use super::place::TopicPartition;

/// How reading from Kafka goes, at one instant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KafkaStatus {
    /// Messages read since the start, those read again included.
    pub messages: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Times that partitions came or went.
    pub rebalances: u64,
    /// Times that reading went back to where the lake is.
    pub rewinds: u64,
    /// Offsets that had expired from their topics before they were read.
    pub missed: u64,
    /// Whether nothing is read because the lake is behind.
    pub paused: bool,
    /// The partitions that are read here.
    pub partitions: Vec<PartitionStatus>,
    /// What is in the way; `None` while all is well.
    pub problem: Option<String>,
}

/// How far one partition is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionStatus {
    /// Topic.
    pub topic: String,
    /// Partition.
    pub partition: i32,
    /// Offset up to which the lake holds its messages; 0 where it holds none.
    pub position: u64,
    /// Messages that the lake does not hold yet; `None` before the broker has told where the end is.
    pub lag: Option<u64>,
}

/// The one place where it is noted.
#[derive(Debug, Default)]
pub(crate) struct Status(Mutex<Inner>);

#[derive(Debug, Default)]
pub(super) struct Inner {
    pub(super) messages: u64,
    pub(super) bytes: u64,
    pub(super) rebalances: u64,
    pub(super) rewinds: u64,
    pub(super) paused: bool,
    pub(super) missed: u64,
    /// What the cluster or librdkafka complains of.
    problem: Option<Problem>,
    /// What keeps messages from being handed on.
    blocked: Option<String>,
    /// What was said of topics that aren't there.
    missing: BTreeSet<String>,
    pub(super) partitions: BTreeMap<TopicPartition, At>,
}

#[derive(Debug)]
struct Problem {
    text: String,
    /// Whether an answer of the cluster shows that it is gone.
    of_connection: bool,
}

/// How far a partition is.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct At {
    pub(super) stored: u64,
    /// The first offset and the next one, as the broker told.
    pub(super) watermarks: Option<(u64, u64)>,
}

impl Status {
    /// All of it.
    pub(crate) fn get(&self) -> KafkaStatus {
        let inner = self.lock();
        let partitions = inner.partitions.iter().map(|(at, known)| PartitionStatus {
            topic: at.topic.clone(),
            partition: at.partition,
            position: known.stored,
            lag: known.lag(),
        });
        KafkaStatus {
            messages: inner.messages,
            bytes: inner.bytes,
            rebalances: inner.rebalances,
            rewinds: inner.rewinds,
            paused: inner.paused,
            partitions: partitions.collect(),
            missed: inner.missed,
            problem: inner.problem(),
        }
    }

    /// What is in the way.
    pub(crate) fn problem(&self) -> Option<String> {
        self.lock().problem()
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut Inner)) {
        change(&mut self.lock());
    }

    /// Notes a problem that stays until partitions are taken; it is told once, however often it comes.
    pub(super) fn trouble(&self, text: String) {
        self.note(Problem { text, of_connection: false });
    }

    /// Notes a problem that is gone once the cluster answers.
    pub(super) fn unreachable(&self, text: String) {
        self.note(Problem { text, of_connection: true });
    }

    fn note(&self, problem: Problem) {
        let mut inner = self.lock();
        let known = inner.problem.as_ref();
        let same = known.is_some_and(|known| known.text == problem.text);
        // What is not allowed says more than that nobody answers.
        let less = problem.of_connection && known.is_some_and(|known| !known.of_connection);
        if !same && !less {
            tracing::warn!(problem = problem.text, "Kafka cannot be read");
            inner.problem = Some(problem);
        }
    }

    /// Notes that the cluster answers.
    pub(super) fn reached(&self) {
        let of_connection = self.lock().problem.as_ref().is_some_and(|problem| problem.of_connection);
        if of_connection {
            self.well();
        }
    }

    /// Notes a topic that isn't there (yet): it is waited for, and told once.
    pub(super) fn missing_topic(&self, reason: &str) {
        if self.lock().missing.insert(reason.to_owned()) {
            tracing::warn!(reason, "a topic is not there; it is read once it is");
        }
    }

    /// Notes that all is well again.
    pub(super) fn well(&self) {
        if self.lock().problem.take().is_some() {
            tracing::info!("Kafka can be read again");
        }
    }

    pub(super) fn blocked(&self, reason: Option<String>) {
        self.lock().blocked = reason;
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn problem(&self) -> Option<String> {
        self.blocked.clone().or_else(|| Some(self.problem.as_ref()?.text.clone()))
    }
}

impl At {
    fn lag(self) -> Option<u64> {
        let (first, next) = self.watermarks?;
        Some(next.saturating_sub(self.stored.max(first)))
    }
}

/// Registers the metrics; they fall silent when the source is dropped.
pub(super) fn export(status: &Arc<Status>) {
    let meter = opentelemetry::global::meter("plimsoll.ingest");
    counter(&meter, status, "messages", "{message}", "messages read", |status| status.messages);
    counter(&meter, status, "size", "By", "bytes of messages read", |status| status.bytes);
    counter(&meter, status, "rebalances", "{rebalance}", "times that partitions came or went", |status| {
        status.rebalances
    });
    counter(
        &meter,
        status,
        "rewinds",
        "{rewind}",
        "times that reading went back to where the lake is",
        |status| status.rewinds,
    );
    counter(
        &meter,
        status,
        "missed",
        "{message}",
        "offsets that had expired before they were read",
        |status| status.missed,
    );
    gauge(&meter, status, "paused", "", "1 while nothing is read because the lake is behind", |status| {
        vec![(u64::from(status.paused), Vec::new())]
    });
    gauge(&meter, status, "connected", "", "1 while nothing is in the way", |status| {
        vec![(u64::from(status.problem.is_none()), Vec::new())]
    });
    gauge(&meter, status, "position", "{message}", "offset up to which the lake holds messages", |status| {
        status.partitions.iter().map(|at| (at.position, at.attributes())).collect()
    });
    gauge(
        &meter,
        status,
        "lag",
        "{message}",
        "messages of the partition that the lake holds not",
        |status| status.partitions.iter().filter_map(|at| Some((at.lag?, at.attributes()))).collect(),
    );
}

impl PartitionStatus {
    fn attributes(&self) -> Vec<KeyValue> {
        vec![
            KeyValue::new("topic", self.topic.clone()),
            KeyValue::new("partition", i64::from(self.partition)),
        ]
    }
}

/// The value of a gauge, and what tells it from the others of its name.
type Reading = (u64, Vec<KeyValue>);

fn counter(
    meter: &Meter,
    status: &Arc<Status>,
    name: &str,
    unit: &'static str,
    about: &'static str,
    read: fn(&KafkaStatus) -> u64,
) {
    let status = Arc::downgrade(status);
    let builder = meter.u64_observable_counter(format!("plimsoll.ingest.kafka.{name}"));
    let _counter = builder
        .with_unit(unit)
        .with_description(about)
        .with_callback(move |observer| {
            if let Some(status) = status.upgrade() {
                observer.observe(read(&status.get()), &[]);
            }
        })
        .build();
}

fn gauge(
    meter: &Meter,
    status: &Arc<Status>,
    name: &str,
    unit: &'static str,
    about: &'static str,
    read: fn(&KafkaStatus) -> Vec<Reading>,
) {
    let status = Arc::downgrade(status);
    let builder = meter.u64_observable_gauge(format!("plimsoll.ingest.kafka.{name}"));
    let _gauge = builder
        .with_unit(unit)
        .with_description(about)
        .with_callback(move |observer| {
            for (value, attributes) in status.upgrade().iter().flat_map(|status| read(&status.get())) {
                observer.observe(value, &attributes);
            }
        })
        .build();
}
