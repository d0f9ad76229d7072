//! What the tests of Kafka share: a cluster in this process, messages, and waiting for what must come.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use plimsoll_ingest::{Counts, Ingest, IngestConfig, KafkaConnection, KafkaSource, KafkaStatus};
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::mocking::MockCluster;
use rdkafka::producer::{BaseRecord, DefaultProducerContext, Producer, ThreadedProducer};
use rdkafka::{ClientConfig, TopicPartitionList};

use crate::support::{Place, body};

/// The topic that most tests use.
pub(crate) const TOPIC: &str = "otlp_spans";

/// A cluster that lives as long as the test.
pub(crate) struct Cluster {
    pub(crate) mock: MockCluster<'static, DefaultProducerContext>,
    producer: ThreadedProducer<DefaultProducerContext>,
}

impl Cluster {
    /// Brokers, and the topic with some partitions.
    pub(crate) fn new(brokers: i32, partitions: i32) -> Self {
        let mock = MockCluster::new(brokers).unwrap();
        mock.create_topic(TOPIC, partitions, brokers.min(3)).unwrap();
        let producer = ClientConfig::new()
            .set("bootstrap.servers", mock.bootstrap_servers())
            .set("message.max.bytes", "2000000")
            .create()
            .unwrap();
        Self { mock, producer }
    }

    pub(crate) fn source(&self) -> KafkaSource {
        KafkaSource {
            connection: self.connection(),
            topics: vec![TOPIC.to_owned()],
            group: "plimsoll".to_owned(),
            encoding: None,
        }
    }

    /// The cluster, with sessions that end sooner than by default.
    pub(crate) fn connection(&self) -> KafkaConnection {
        let mut connection = KafkaConnection::new(self.mock.bootstrap_servers());
        for (name, value) in [("session.timeout.ms", "3000"), ("heartbeat.interval.ms", "500")] {
            connection.properties.insert(name.to_owned(), value.to_owned());
        }
        connection
    }

    /// Puts messages onto a partition of the topic, in order, and waits until they are there.
    pub(crate) fn send(&self, partition: i32, bodies: impl IntoIterator<Item = Vec<u8>>) {
        for body in bodies {
            self.send_with(TOPIC, partition, body, &[]);
        }
        self.flush();
    }

    pub(crate) fn send_with(&self, topic: &str, partition: i32, body: Vec<u8>, headers: &[(&str, &str)]) {
        let made = headers
            .iter()
            .fold(OwnedHeaders::new(), |made, (key, value)| made.insert(Header { key, value: Some(*value) }));
        loop {
            let record =
                BaseRecord::<[u8], [u8]>::to(topic).partition(partition).payload(&body).headers(made.clone());
            match self.producer.send(record) {
                Ok(()) => return,
                Err(_) => self.flush(),
            }
        }
    }

    pub(crate) fn flush(&self) {
        self.producer.flush(Duration::from_secs(60)).unwrap();
    }

    /// The group's offsets of the topic's partitions.
    pub(crate) fn committed(&self, partitions: i32) -> Vec<Option<i64>> {
        let mut asked = TopicPartitionList::new();
        asked.add_partition_range(TOPIC, 0, partitions - 1);
        let monitor: BaseConsumer = ClientConfig::new()
            .set("bootstrap.servers", self.mock.bootstrap_servers())
            .set("group.id", self.source().group)
            .create()
            .unwrap();
        let told = monitor.committed_offsets(asked, Duration::from_secs(60)).unwrap();
        told.elements().iter().map(|at| at.offset().to_raw().filter(|offset| *offset >= 0)).collect()
    }

    /// The settings of an ingest that reads the topic and does nothing else, in a place of its own.
    pub(crate) fn config(&self, place: &Place, name: &str) -> IngestConfig {
        let mut config = place.config();
        config.journal.directory = place.directory.path().join(name);
        config.dead_letters = plimsoll_ingest::DeadLetterOptions::new(dead(place, name));
        (config.grpc, config.http) = (None, None);
        config.flush.every = Duration::from_millis(200);
        config.flush.retry = (Duration::from_millis(50), Duration::from_millis(500));
        config.kafka = Some(self.source());
        config
    }
}

/// Where an ingest's dead letters are.
pub(crate) fn dead(place: &Place, name: &str) -> PathBuf {
    place.directory.path().join(name).join("dead")
}

/// The dead letters of an ingest, by file name.
pub(crate) fn letters(place: &Place, name: &str) -> BTreeMap<String, serde_json::Value> {
    let Ok(entries) = std::fs::read_dir(dead(place, name)) else { return BTreeMap::new() };
    entries
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            (path.file_name().unwrap().to_string_lossy().into_owned(), serde_json::from_str(&text).unwrap())
        })
        .collect()
}

/// Bodies of one span each, named by a prefix and a number.
pub(crate) fn numbered(prefix: &str, numbers: std::ops::Range<usize>) -> Vec<Vec<u8>> {
    numbers.map(|number| body(&[&format!("{prefix}{number}")])).collect()
}

/// Whether the sums hold.
pub(crate) fn holds(counts: Counts) -> bool {
    counts.received == counts.stored + counts.quarantined + counts.rejected + counts.in_flight
}

/// Waits until something is true, sampling the sums all the while.
pub(crate) async fn until(what: &str, ingests: &[&Ingest], mut is: impl FnMut() -> bool) {
    let limit = Instant::now() + Duration::from_secs(120);
    while !is() {
        for ingest in ingests {
            assert!(holds(ingest.counts()), "{what}: {:?}", ingest.counts());
        }
        assert!(Instant::now() < limit, "{what} did not come: {:?}", report(ingests));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn report(ingests: &[&Ingest]) -> Vec<(Counts, Option<KafkaStatus>)> {
    ingests.iter().map(|ingest| (ingest.counts(), ingest.kafka())).collect()
}

/// Waits until the lake holds as many spans.
pub(crate) async fn until_stored(place: &Place, spans: u64, ingests: &[&Ingest]) {
    let table = place.lake.table("spans").await.unwrap();
    let limit = Instant::now() + Duration::from_secs(120);
    loop {
        let rows = table.snapshot().await.unwrap().rows();
        assert!(rows <= spans, "{rows} rows of {spans}: {:?}", report(ingests));
        if rows == spans {
            return;
        }
        for ingest in ingests {
            assert!(holds(ingest.counts()), "{:?}", ingest.counts());
        }
        assert!(Instant::now() < limit, "{rows} rows of {spans}: {:?}", report(ingests));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Each name that was sent stands in the lake once.
pub(crate) async fn each_once(place: &Place, spans: usize) {
    let names = place.names().await;
    assert_eq!(names.len(), spans);
    let twice: Vec<_> = names.iter().filter(|(_, times)| **times != 1).take(5).collect();
    assert!(twice.is_empty(), "{twice:?}");
}
