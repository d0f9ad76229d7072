//! Puts requests onto a topic, which is the journal of receivers that keep nothing themselves.
//!
//! A task of its own finds the topic, asks how large a message it takes, and looks again after a failure;
//! until it has found it, nothing is taken. Leaves to [`crate::forward`] what is put there, and to librdkafka
//! the partition and the attempts.
//!
//! Invariant: `Ok` is given for a message only once every replica that must have it has it (`acks=all`), and
//! attempts of the client repeat none (`enable.idempotence`).

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rdkafka::admin::{AdminClient, AdminOptions, ResourceSpecifier};
use rdkafka::client::DefaultClientContext;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{FutureProducer, FutureRecord, Producer as _};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::connection::{ConnectionError, KafkaConnection, is_topic_name};
use super::decode::SIGNAL_HEADER;

/// A topic in place of the journal on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KafkaLog {
    /// The cluster.
    pub connection: KafkaConnection,
    /// The topic; it must exist, or the brokers make it.
    pub topic: String,
}

/// A topic that can't be used as it is written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KafkaLogError {
    /// The cluster.
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    /// A name that no topic can have.
    #[error("the journal's topic `{0}` is no topic's name: use letters, digits, `.`, `_` and `-`")]
    TopicName(String),
    /// librdkafka refuses to start.
    #[error("the Kafka client cannot start: {0}")]
    Client(String),
}

/// A message that the brokers have not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PutError {
    /// The client holds as many as it may.
    #[error("too many messages wait for Kafka")]
    Full,
    /// The topic takes less than was thought; what it takes is asked again.
    #[error(
        "topic {topic} takes no message of {bytes} bytes: say what it takes by message.max.bytes in kafka.properties"
    )]
    TooLarge {
        /// The topic.
        topic: String,
        /// Of the message.
        bytes: usize,
    },
    /// No broker has it for certain; it may be tried again.
    #[error("Kafka did not take it: {0}")]
    Failed(String),
}

/// What goes along with a message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Headers {
    pub(crate) content_type: &'static str,
    pub(crate) content_encoding: Option<&'static str>,
    pub(crate) signal: &'static str,
}

/// librdkafka's own, which the brokers' default is above: bytes of a message.
const MESSAGE_BYTES: usize = 1_000_000;
/// Bytes of a message that are not its body: the batch around it, its headers.
const AROUND: usize = 1 << 10;
/// How long a message may wait for the brokers: less than exporters wait for an answer, so that what was
/// not sent yet is taken back before its sender comes again.
const DELIVERY_MS: &str = "8000";
/// Between two looks for the topic.
const RETRY: Duration = Duration::from_secs(1);
/// Of one look.
const LOOK: Duration = Duration::from_secs(5);

/// A running producer; dropping it gives up what is not delivered, whose senders are not answered.
pub(crate) struct Producer {
    shared: Arc<Shared>,
    connecting: JoinHandle<()>,
}

struct Shared {
    log: KafkaLog,
    queue_kbytes: String,
    state: Mutex<State>,
    lost: Notify,
}

enum State {
    Up(Link),
    Down(String),
}

/// A topic that was found.
#[derive(Clone)]
pub(crate) struct Link {
    client: FutureProducer,
    message_bytes: usize,
}

impl Link {
    /// Most bytes of a body.
    pub(crate) fn body_bytes(&self) -> usize {
        self.message_bytes.saturating_sub(AROUND)
    }
}

impl KafkaLog {
    /// Looks for what can be known to be wrong without asking a broker.
    ///
    /// # Errors
    /// Says which setting to change.
    pub fn check(&self) -> Result<(), KafkaLogError> {
        self.connection.check()?;
        let taken: [(&str, &[&str]); 3] = [
            ("acks", &["all", "-1"]),
            ("request.required.acks", &["all", "-1"]),
            ("enable.idempotence", &["true"]),
        ];
        for (name, taken) in taken {
            if let Some(value) = self.connection.properties.get(name)
                && !taken.contains(&value.as_str())
            {
                let reason = "an acknowledged span must outlive a broker, and be there once";
                let (name, value) = (name.to_owned(), value.clone());
                return Err(ConnectionError::Refused { name, value, reason }.into());
            }
        }
        if is_topic_name(&self.topic) { Ok(()) } else { Err(KafkaLogError::TopicName(self.topic.clone())) }
    }
}

impl Producer {
    /// Starts to look for the topic. `queue_bytes` are the most that may wait for the brokers.
    ///
    /// # Errors
    /// A setting is wrong.
    pub(crate) fn start(log: KafkaLog, queue_bytes: usize) -> Result<Self, KafkaLogError> {
        log.check()?;
        let state = Mutex::new(State::Down(format!("topic {} is being looked for", log.topic)));
        let queue_kbytes = (queue_bytes >> 10).max(1 << 10).to_string();
        let shared = Arc::new(Shared { log, queue_kbytes, state, lost: Notify::new() });
        shared.client(MESSAGE_BYTES).map_err(|error| KafkaLogError::Client(error.to_string()))?;
        let connecting = tokio::spawn(connect(Arc::clone(&shared)));
        Ok(Self { shared, connecting })
    }

    /// The topic, if it is there.
    ///
    /// # Errors
    /// Why it is not.
    pub(crate) fn link(&self) -> Result<Link, String> {
        match &*self.shared.state() {
            State::Up(link) => Ok(link.clone()),
            State::Down(reason) => Err(reason.clone()),
        }
    }

    /// Puts a message onto the topic and waits until it is safe there.
    ///
    /// # Errors
    /// It is not known to be.
    pub(crate) async fn put(&self, link: &Link, body: &[u8], headers: Headers) -> Result<(), PutError> {
        let topic = self.shared.log.topic.as_str();
        let record = FutureRecord::<(), [u8]>::to(topic).payload(body).headers(headers.owned());
        match link.client.send(record, Duration::ZERO).await {
            Ok(_) => Ok(()),
            Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), _)) => Err(PutError::Full),
            Err((KafkaError::MessageProduction(RDKafkaErrorCode::MessageSizeTooLarge), _)) => {
                let error = PutError::TooLarge { topic: topic.to_owned(), bytes: body.len() };
                self.shared.lose(error.to_string());
                Err(error)
            }
            Err((error, _)) => {
                let error = PutError::Failed(error.to_string());
                self.shared.lose(error.to_string());
                Err(error)
            }
        }
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        self.connecting.abort();
    }
}

impl fmt::Debug for Producer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Producer").field("log", &self.shared.log).finish_non_exhaustive()
    }
}

impl Headers {
    fn owned(self) -> OwnedHeaders {
        let coding = self.content_encoding.map(|value| ("content-encoding", value));
        let all = [Some(("content-type", self.content_type)), coding, Some((SIGNAL_HEADER, self.signal))];
        let headers = OwnedHeaders::new_with_capacity(all.len());
        all.into_iter()
            .flatten()
            .fold(headers, |headers, (key, value)| headers.insert(Header { key, value: Some(value) }))
    }
}

/// Looks for the topic until it is there, and again whenever it is lost.
async fn connect(shared: Arc<Shared>) {
    let mut last = None;
    loop {
        let looking = Arc::clone(&shared);
        let looked = tokio::task::spawn_blocking(move || looking.look(last)).await;
        match looked.unwrap_or_else(|error| Err(error.to_string())) {
            Ok(link) => {
                tracing::info!(
                    topic = shared.log.topic,
                    message_bytes = link.message_bytes,
                    "requests go to Kafka"
                );
                last = Some(link.clone());
                *shared.state() = State::Up(link);
                shared.lost.notified().await;
            }
            Err(reason) => {
                last = None;
                tracing::warn!(reason, "requests are refused until Kafka takes them");
                *shared.state() = State::Down(reason);
                tokio::time::sleep(RETRY).await;
            }
        }
    }
}

impl Shared {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing is taken until the topic was found again.
    fn lose(&self, reason: String) {
        *self.state() = State::Down(reason);
        self.lost.notify_one();
    }

    /// Looks once. Blocks.
    fn look(&self, last: Option<Link>) -> Result<Link, String> {
        // After a fatal error a client is good for nothing any more.
        let last = last.filter(|link| link.client.client().fatal_error().is_none());
        let link = match last {
            Some(link) => link,
            None => self.client(MESSAGE_BYTES).map_err(|error| error.to_string())?,
        };
        let topic = self.log.topic.as_str();
        let metadata =
            link.client.client().fetch_metadata(Some(topic), LOOK).map_err(|error| {
                format!("no broker among {} answers: {error}", self.log.connection.brokers)
            })?;
        let found = metadata.topics().iter().find(|found| found.name() == topic);
        let partitions = found.map_or(&[][..], |found| found.partitions());
        if partitions.is_empty() {
            return Err(format!("topic {topic} does not exist, or may not be written: create it"));
        }
        if partitions.iter().all(|partition| partition.leader() < 0) {
            return Err(format!("no partition of topic {topic} has a leader"));
        }
        match self.topic_bytes() {
            Some(bytes) if bytes != link.message_bytes => {
                self.client(bytes).map_err(|error| error.to_string())
            }
            _ => Ok(link),
        }
    }

    /// What the topic says that it takes; `None` where it may not be asked.
    fn topic_bytes(&self) -> Option<usize> {
        let admin: AdminClient<DefaultClientContext> = self.log.connection.client(&[]).create().ok()?;
        let asked = [ResourceSpecifier::Topic(&self.log.topic)];
        let options = AdminOptions::new().request_timeout(Some(LOOK));
        let answered =
            tokio::runtime::Handle::current().block_on(admin.describe_configs(&asked, &options)).ok()?;
        let resource = answered.into_iter().next()?.ok()?;
        resource.get("max.message.bytes")?.value.as_ref()?.parse().ok()
    }

    /// A client for messages of at most `message_bytes`, or of what the user says.
    fn client(&self, message_bytes: usize) -> Result<Link, KafkaError> {
        let users = |name| self.log.connection.properties.get(name).and_then(|value| value.parse().ok());
        let message_bytes = users("message.max.bytes").unwrap_or(message_bytes);
        // The brokers measure a batch, not a message.
        let batch = message_bytes.min(MESSAGE_BYTES).to_string();
        let config = self.log.connection.client(&[
            ("acks", "all"),
            ("enable.idempotence", "true"),
            ("linger.ms", "5"),
            ("message.timeout.ms", DELIVERY_MS),
            ("message.max.bytes", &message_bytes.to_string()),
            ("batch.size", &batch),
            ("queue.buffering.max.kbytes", &self.queue_kbytes),
        ]);
        Ok(Link { client: config.create()?, message_bytes })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// A setting under which an acknowledged span could be lost is refused at the start.
    #[test]
    fn what_correctness_rests_on_is_not_for_setting() {
        let log = |topic: &str, name: &str, value: &str| {
            let properties = BTreeMap::from([(name.to_owned(), value.to_owned())]);
            let connection = KafkaConnection { properties, ..KafkaConnection::new("localhost:9092") };
            KafkaLog { connection, topic: topic.to_owned() }.check()
        };
        assert_eq!(log("otlp", "compression.type", "zstd"), Ok(()));
        assert_eq!(log("otlp", "acks", "-1"), Ok(()));
        for (name, value) in [("acks", "1"), ("request.required.acks", "0"), ("enable.idempotence", "false")]
        {
            let refused = log("otlp", name, value);
            assert!(matches!(refused, Err(KafkaLogError::Connection(_))), "{name}: {refused:?}");
        }
        assert_eq!(log("a b", "acks", "all"), Err(KafkaLogError::TopicName("a b".to_owned())));
    }
}
