//! The member of the consumer group: how it is set up, what it is told, what its errors mean.
//!
//! Partitions are neither taken nor let go here: changes are noted, and the thread that reads makes them
//! when it knows from where to read, or has handed on what it read. It polls all the while.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rdkafka::client::ClientContext;
use rdkafka::config::{ClientConfig, FromClientConfigAndContext, RDKafkaLogLevel};
use rdkafka::consumer::{BaseConsumer, Consumer as _, ConsumerContext, RebalanceProtocol};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::types::RDKafkaRespErr;
use rdkafka::{Offset, TopicPartitionList};

use super::options::{KafkaSource, KafkaSourceError};
use super::place::{Placed, TopicPartition};
use super::status::Status;

/// Settings that the user's win over.
const DEFAULTS: [(&str, &str); 17] = [
    // Partitions that stay are read on while others move.
    ("partition.assignment.strategy", "cooperative-sticky"),
    // A killed reader's partitions move within seconds; brokers take no less than 6 s by default.
    ("session.timeout.ms", "6000"),
    ("heartbeat.interval.ms", "2000"),
    // This reader polls all the time; it is also how long others wait for one that can't say where it is.
    ("max.poll.interval.ms", "30000"),
    ("enable.auto.commit", "false"),
    ("enable.auto.offset.store", "false"),
    ("auto.offset.reset", "earliest"),
    ("isolation.level", "read_committed"),
    // Memory of what was fetched and not yet read; librdkafka's defaults are 64 MiB and 50 MiB a broker.
    ("queued.max.messages.kbytes", "16384"),
    ("fetch.max.bytes", "8388608"),
    // That memory is full most of the time while a backlog is read: after its wait of a second it is empty.
    ("fetch.queue.backoff.ms", "20"),
    // A new topic, partition or match of a pattern is found within seconds.
    ("topic.metadata.refresh.interval.ms", "5000"),
    ("metadata.max.age.ms", "15000"),
    ("allow.auto.create.topics", "false"),
    ("reconnect.backoff.max.ms", "2000"),
    ("socket.keepalive.enable", "true"),
    ("log.connection.close", "false"),
];

/// A change of what this member reads, to be made.
#[derive(Debug)]
pub(super) enum Change {
    Assign(Vec<TopicPartition>),
    Revoke(Vec<TopicPartition>),
    /// Partitions that stay are read from where the tables are.
    Relocate(Vec<TopicPartition>),
}

/// What librdkafka calls, on the thread that polls.
pub(super) struct Context {
    changes: Mutex<VecDeque<Change>>,
    closing: AtomicBool,
    status: Arc<Status>,
    /// Why a broker could not be reached last.
    away: Mutex<String>,
}

pub(super) type Consumer = BaseConsumer<Context>;

/// Makes a member; it joins once it subscribes and polls.
pub(super) fn create(
    source: &KafkaSource,
    instance: &str,
    status: &Arc<Status>,
) -> Result<Arc<Consumer>, KafkaSourceError> {
    let mut config = config(source, instance);
    config.set_log_level(RDKafkaLogLevel::Warning);
    let context = Context {
        changes: Mutex::default(),
        closing: AtomicBool::new(false),
        status: Arc::clone(status),
        away: Mutex::default(),
    };
    let made = Consumer::from_config_and_context(&config, context);
    made.map(Arc::new).map_err(|error| KafkaSourceError::Client(error.to_string()))
}

fn config(source: &KafkaSource, instance: &str) -> ClientConfig {
    let own = [("group.id", source.group.trim()), ("group.instance.id", instance)];
    let defaults: Vec<(&str, &str)> = DEFAULTS.into_iter().chain(own).collect();
    source.connection.client(&defaults)
}

/// After how long without a word of it the group gives a member up.
pub(super) fn session(source: &KafkaSource, instance: &str) -> Duration {
    let config = config(source, instance);
    let millis = config.get("session.timeout.ms").and_then(|millis| millis.parse().ok());
    // librdkafka refuses what is no number.
    millis.map_or(Duration::ZERO, Duration::from_millis)
}

/// Takes partitions, from the offsets where the tables are.
pub(super) fn assign(consumer: &Consumer, placed: &[Placed]) -> KafkaResult<()> {
    let mut list = TopicPartitionList::new();
    for Placed { place, held } in placed {
        let offset = match i64::try_from(held.spans) {
            Ok(next) if next > 0 => Offset::Offset(next),
            _ => Offset::Beginning,
        };
        list.add_partition_offset(&place.topic, place.partition, offset)?;
    }
    match consumer.rebalance_protocol() {
        RebalanceProtocol::Cooperative => consumer.incremental_assign(&list),
        _ => consumer.assign(&list),
    }
}

/// Lets partitions go.
pub(super) fn unassign(consumer: &Consumer, partitions: &TopicPartitionList) -> KafkaResult<()> {
    match consumer.rebalance_protocol() {
        RebalanceProtocol::Cooperative => consumer.incremental_unassign(partitions),
        _ => consumer.unassign(),
    }
}

pub(super) fn list(partitions: &[TopicPartition]) -> TopicPartitionList {
    let mut list = TopicPartitionList::new();
    for TopicPartition { topic, partition } in partitions {
        list.add_partition(topic, *partition);
    }
    list
}

impl Context {
    /// The next change that librdkafka waits for.
    pub(super) fn change(&self) -> Option<Change> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    /// From now on partitions are let go at once.
    pub(super) fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
    }
}

impl ClientContext for Context {
    /// What matters comes as an error too; here it would be told at every attempt to connect.
    fn log(&self, _level: RDKafkaLogLevel, facility: &str, message: &str) {
        tracing::debug!(facility, message, "librdkafka");
    }

    fn error(&self, error: KafkaError, reason: &str) {
        let Some(code) = error.rdkafka_error_code() else { return self.status.trouble(reason.to_owned()) };
        match code {
            // One broker of several; where it is all of them, that is told apart.
            RDKafkaErrorCode::BrokerTransportFailure | RDKafkaErrorCode::OperationTimedOut => {
                tracing::debug!(reason, "a broker is away");
                reason.clone_into(&mut self.away.lock().unwrap_or_else(PoisonError::into_inner));
            }
            RDKafkaErrorCode::UnknownTopicOrPartition | RDKafkaErrorCode::UnknownTopic => {
                self.status.missing_topic(reason);
            }
            // It is fetched again by itself.
            RDKafkaErrorCode::AutoOffsetReset | RDKafkaErrorCode::OffsetOutOfRange => {
                tracing::warn!(reason, "messages are gone from a topic before they were read");
            }
            RDKafkaErrorCode::AllBrokersDown => {
                let away = self.away.lock().unwrap_or_else(PoisonError::into_inner).clone();
                self.status.unreachable(explain(code, if away.is_empty() { reason } else { &away }));
            }
            RDKafkaErrorCode::Resolve
            | RDKafkaErrorCode::SSL
            | RDKafkaErrorCode::Authentication
            | RDKafkaErrorCode::SaslAuthenticationFailed => self.status.unreachable(explain(code, reason)),
            code => self.status.trouble(explain(code, reason)),
        }
    }
}

impl ConsumerContext for Context {
    fn rebalance(&self, consumer: &Consumer, error: RDKafkaRespErr, list: &mut TopicPartitionList) {
        if self.closing.load(Ordering::Relaxed) {
            if let Err(error) = unassign(consumer, list) {
                tracing::debug!(%error, "partitions were let go at the end");
            }
            return;
        }
        let partitions = list
            .elements()
            .iter()
            .map(|at| TopicPartition { topic: at.topic().to_owned(), partition: at.partition() })
            .collect();
        let change = match error {
            RDKafkaRespErr::RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS => Change::Assign(partitions),
            _ => Change::Revoke(partitions),
        };
        self.status.change(|status| status.rebalances += 1);
        self.changes.lock().unwrap_or_else(PoisonError::into_inner).push_back(change);
    }
}

/// What to do about an error.
pub(super) fn explain(code: RDKafkaErrorCode, reason: &str) -> String {
    let what = match code {
        RDKafkaErrorCode::AllBrokersDown => "no broker of kafka.brokers can be reached",
        RDKafkaErrorCode::Resolve => "a broker's host name is not known: see kafka.brokers",
        RDKafkaErrorCode::Authentication | RDKafkaErrorCode::SaslAuthenticationFailed => {
            "the brokers do not take the credentials of kafka.properties (sasl.*)"
        }
        RDKafkaErrorCode::SSL => "TLS with the brokers fails: see kafka.properties (ssl.*)",
        RDKafkaErrorCode::TopicAuthorizationFailed => "reading a topic of kafka.topics is not allowed",
        RDKafkaErrorCode::GroupAuthorizationFailed => "joining kafka.group is not allowed",
        RDKafkaErrorCode::FencedInstanceId => {
            "another process has joined the group under this one's id: give each a journal directory of its own"
        }
        RDKafkaErrorCode::InconsistentGroupProtocol => {
            "the group's other members divide partitions in another way: use a kafka.group of its own"
        }
        _ => "Kafka reports an error",
    };
    format!("{what} ({reason})")
}
