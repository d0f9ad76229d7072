//! A topic as the journal of receivers that keep nothing: what is acknowledged is in it, as it came, and
//! what is not in it is not acknowledged. The brokers are librdkafka's mock, with faults.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use plimsoll_ingest::{Counts, Ingest, IngestConfig, IngestError, KafkaConnection, KafkaLog, LogKind};
use prost::Message;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::{BorrowedMessage, Headers};
use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;
use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};
use rdkafka::{ClientConfig, Message as _, Offset, TopicPartitionList};

use crate::kafka_support;
use crate::support::{Place, body, post, request, send, span};

const TOPIC: &str = "otlp";
const PARTITIONS: i32 = 3;

type Cluster = MockCluster<'static, DefaultProducerContext>;

fn cluster() -> Cluster {
    let cluster = MockCluster::new(1).unwrap();
    cluster.create_topic(TOPIC, PARTITIONS, 1).unwrap();
    cluster
}

/// A process that receives into the topic and writes no lake.
fn receiving(place: &Place, cluster: &Cluster, properties: &[(&str, &str)]) -> IngestConfig {
    let mut connection = KafkaConnection::new(cluster.bootstrap_servers());
    let properties = [("message.timeout.ms", "2000")].iter().chain(properties);
    connection.properties =
        properties.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let log = LogKind::Kafka(KafkaLog { connection, topic: TOPIC.to_owned() });
    IngestConfig { log, ..place.config() }
}

async fn start(place: &Place, config: IngestConfig) -> Ingest {
    let ingest = Ingest::start(config, None, Arc::clone(&place.decoder)).await.unwrap();
    until(|| ingest.ready()).await;
    ingest
}

async fn until(mut holds: impl FnMut() -> bool) {
    while !holds() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn settled(counts: Counts) -> bool {
    counts.received
        == counts.stored + counts.quarantined + counts.rejected + counts.forwarded + counts.in_flight
}

/// A message with its headers.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    body: Vec<u8>,
    headers: BTreeMap<String, String>,
}

impl Found {
    fn of(message: &BorrowedMessage<'_>) -> Self {
        let headers = message.headers().into_iter().flat_map(|headers| headers.iter());
        let text = |bytes: Option<&[u8]>| String::from_utf8(bytes.unwrap_or_default().to_vec()).unwrap();
        Self {
            body: message.payload().unwrap_or_default().to_vec(),
            headers: headers.map(|header| (header.key.to_owned(), text(header.value))).collect(),
        }
    }

    fn names(&self) -> Vec<String> {
        let request = ExportTraceServiceRequest::decode(self.body.as_slice()).unwrap();
        let scopes = request.resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
        scopes.flat_map(|scope| scope.spans).map(|span| span.name).collect()
    }
}

/// All that is in the topic.
fn topic(cluster: &Cluster) -> Vec<Found> {
    let consumer: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", cluster.bootstrap_servers())
        .set("group.id", "test")
        .create()
        .unwrap();
    let mut from_the_start = TopicPartitionList::new();
    let mut left = 0;
    for partition in 0..PARTITIONS {
        let (low, high) = consumer.fetch_watermarks(TOPIC, partition, Duration::from_secs(10)).unwrap();
        left += high - low;
        from_the_start.add_partition_offset(TOPIC, partition, Offset::Beginning).unwrap();
    }
    consumer.assign(&from_the_start).unwrap();
    let mut found = Vec::new();
    while left > 0 {
        if let Some(Ok(message)) = consumer.poll(Duration::from_millis(100)) {
            found.push(Found::of(&message));
            left -= 1;
        }
    }
    found
}

fn names(found: &[Found]) -> Vec<String> {
    let mut names: Vec<_> = found.iter().flat_map(Found::names).collect();
    names.sort();
    names
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

const JSON: &str = r#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174","name":"json","startTimeUnixNano":"1700000000000000000"}]}]}]}"#;

/// The bytes go to the topic as they came, compressed too, with headers that say how to read them; what is
/// no request, or empty, does not go there.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_acknowledged_is_in_the_topic_as_it_came() {
    let (place, cluster) = (Place::new().await, cluster());
    let ingest = start(&place, receiving(&place, &cluster, &[])).await;
    let address = ingest.http_addr().unwrap();
    let traces = body(&["one", "two"]);
    assert_eq!(post(&ingest, traces.clone()).await.status, 200);
    let json = gzip(JSON.as_bytes());
    let headers = [("Content-Type", "application/json"), ("Content-Encoding", "gzip")];
    assert_eq!(send(address, "POST", "/v1/traces", &headers, json.clone()).await.status, 200);
    // A logs request with one empty record.
    let logs = vec![0x0a, 4, 0x12, 2, 0x12, 0];
    let headers = [("Content-Type", "application/x-protobuf")];
    assert_eq!(send(address, "POST", "/v1/logs", &headers, logs.clone()).await.status, 200);

    assert_eq!(post(&ingest, b"junk".to_vec()).await.status, 400);
    assert_eq!(post(&ingest, Vec::new()).await.status, 200);
    let counts = ingest.counts();
    assert_eq!((counts.received, counts.forwarded, counts.in_flight), (4, 4, 0));
    assert_eq!((counts.accepted_requests, counts.invalid_requests), (4, 1));
    assert!(!place.journal().exists(), "it keeps nothing itself");

    let headers = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let found = topic(&cluster);
    let protobuf = ("content-type", "application/x-protobuf");
    for expected in [
        Found { body: traces, headers: headers(&[protobuf, ("plimsoll.signal", "traces")]) },
        Found { body: logs, headers: headers(&[protobuf, ("plimsoll.signal", "logs")]) },
        Found {
            body: json,
            headers: headers(&[
                ("content-type", "application/json"),
                ("content-encoding", "gzip"),
                ("plimsoll.signal", "traces"),
            ]),
        },
    ] {
        assert!(found.contains(&expected), "{expected:?}");
    }
    assert_eq!(found.len(), 3);
    ingest.shutdown(Duration::from_secs(5)).await;
}

/// A request larger than a message is several messages with each span once, whatever it was written as; a
/// span that is larger alone is refused for good.
#[tokio::test(flavor = "multi_thread")]
async fn a_large_request_is_cut_between_its_spans() {
    let (place, cluster) = (Place::new().await, cluster());
    let ingest = start(&place, receiving(&place, &cluster, &[("message.max.bytes", "3000")])).await;
    let sent: Vec<String> = (0..60).map(|n| format!("span-{n:02}")).collect();
    let large = request(sent.iter().map(|name| span(name)).collect()).encode_to_vec();
    assert!(large.len() > 6000);
    assert_eq!(post(&ingest, large).await.status, 200);
    let found = topic(&cluster);
    assert!(found.len() > 2 && found.iter().all(|part| part.body.len() <= 3000));
    assert_eq!(names(&found), sent);

    let span_of_json = JSON.split_once(r#""spans":["#).unwrap().1.trim_end_matches("]}]}]}");
    let many = vec![span_of_json; 40].join(",");
    let json = JSON.replace(span_of_json, &many);
    let headers = [("Content-Type", "application/json")];
    let answer = send(ingest.http_addr().unwrap(), "POST", "/v1/traces", &headers, json.into_bytes()).await;
    assert_eq!(answer.status, 200);
    let found = topic(&cluster);
    assert_eq!(names(&found).iter().filter(|name| *name == "json").count(), 40);

    let answer = post(&ingest, body(&["s".repeat(3000).as_str()])).await;
    assert_eq!(answer.status, 413, "{}", answer.text());
    let counts = ingest.counts();
    assert_eq!((counts.forwarded, counts.too_large_requests), (100, 1));
    assert!(settled(counts) && ingest.ready());
}

/// Errors that pass are attempted again and leave one message; an error that does not is a 503 that says
/// when to come again, and nothing of it is counted; the process recovers by itself.
#[tokio::test(flavor = "multi_thread")]
async fn failed_deliveries_are_not_acknowledged() {
    let (place, cluster) = (Place::new().await, cluster());
    let ingest = start(&place, receiving(&place, &cluster, &[])).await;
    let produce = RDKafkaApiKey::Produce;
    cluster.request_errors(produce, &[RDKafkaRespErr::RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS; 2]);
    assert_eq!(post(&ingest, body(&["attempted"])).await.status, 200);
    assert_eq!(names(&topic(&cluster)), ["attempted"]);

    for error in [
        RDKafkaRespErr::RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED,
        RDKafkaRespErr::RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE,
    ] {
        cluster.request_errors(produce, &[error]);
        let refused = post(&ingest, body(&["refused"])).await;
        assert_eq!((refused.status, refused.header("retry-after")), (503, "5"), "{}", refused.text());
        assert!(settled(ingest.counts()) && ingest.alive());
        until(|| ingest.ready()).await;
    }
    assert_eq!(post(&ingest, body(&["later"])).await.status, 200);
    assert_eq!(names(&topic(&cluster)), ["attempted", "later"]);
    let counts = ingest.counts();
    assert_eq!((counts.received, counts.forwarded, counts.refused_requests), (2, 2, 2));
}

/// Without brokers nothing is taken, and readiness says so; when they are back it goes on, and every span
/// that was acknowledged is there.
#[tokio::test(flavor = "multi_thread")]
async fn brokers_that_go_and_come_back() {
    let (place, cluster) = (Place::new().await, cluster());
    let ingest = start(&place, receiving(&place, &cluster, &[("message.timeout.ms", "500")])).await;
    assert_eq!(post(&ingest, body(&["before"])).await.status, 200);
    cluster.broker_down(1).unwrap();
    let refused = post(&ingest, body(&["meanwhile"])).await;
    assert_eq!(refused.status, 503, "{}", refused.text());
    until(|| !ingest.ready()).await;
    assert!(ingest.alive(), "a restart would not help");
    assert!(ingest.not_ready().is_some_and(|reason| !reason.is_empty()));
    assert_eq!(post(&ingest, body(&["refused"])).await.status, 503);
    cluster.broker_up(1).unwrap();
    until(|| ingest.ready()).await;
    assert_eq!(post(&ingest, body(&["after"])).await.status, 200);
    let found = names(&topic(&cluster));
    for name in ["before", "after"] {
        assert_eq!(found.iter().filter(|found| *found == name).count(), 1, "{found:?}");
    }
    assert!(settled(ingest.counts()));
    assert_eq!(ingest.counts().forwarded, 2);
}

/// A process starts before its brokers do, and before the topic is there; it says what it waits for.
#[tokio::test(flavor = "multi_thread")]
async fn it_starts_without_brokers() {
    let place = Place::new().await;
    let mut config = place.config();
    let connection = KafkaConnection::new("127.0.0.1:1");
    config.log = LogKind::Kafka(KafkaLog { connection, topic: TOPIC.to_owned() });
    let ingest = Ingest::start(config, None, Arc::clone(&place.decoder)).await.unwrap();
    assert!(ingest.not_ready().is_some_and(|reason| reason.contains(TOPIC)));
    assert!(ingest.alive() && ingest.flush().await.is_ok());
    let shutdown = ingest.shutdown(Duration::from_secs(1)).await;
    assert_eq!((shutdown.left_in_journal, shutdown.unread), (0, 0));
}

/// Who writes no lake must not be the one who holds spans for it: the disk is no journal for such a
/// process, and one that has been filled is not left behind in silence.
#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_leaves_no_spans_behind() {
    let (place, cluster) = (Place::new().await, cluster());
    let start = |config| Ingest::start(config, None, Arc::clone(&place.decoder));
    assert!(matches!(start(place.config()).await, Err(IngestError::NothingWrites)));
    let ingest = place.start().await;
    assert_eq!(post(&ingest, body(&["left"])).await.status, 200);
    drop(ingest);
    let config = receiving(&place, &cluster, &[]);
    assert!(matches!(start(config.clone()).await, Err(IngestError::LeftInJournal(_))));
    // A process that writes brings it into the lake, though its requests go to the topic.
    let ingest = place.start_with(config.clone()).await;
    until(|| ingest.ready()).await;
    assert_eq!(post(&ingest, body(&["forwarded"])).await.status, 200);
    ingest.flush().await.unwrap();
    assert_eq!(place.names().await.into_keys().collect::<Vec<_>>(), ["left"]);
    let counts = ingest.counts();
    assert_eq!((counts.received, counts.stored, counts.forwarded), (2, 1, 1));
    ingest.shutdown(Duration::from_secs(5)).await;
    assert!(start(config).await.is_ok());
    assert_eq!(names(&topic(&cluster)), ["forwarded"]);
}

/// From a receiver's acknowledgement through the topic into the lake: each span once, whatever its encoding
/// and size, with a writer killed on the way.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_forwarded_is_stored_once() {
    let place = Place::new().await;
    let cluster = kafka_support::Cluster::new(1, 3);
    let mut connection = KafkaConnection::new(cluster.mock.bootstrap_servers());
    connection.properties.insert("message.max.bytes".to_owned(), "20000".to_owned());
    let log = LogKind::Kafka(KafkaLog { connection, topic: kafka_support::TOPIC.to_owned() });
    let receiver = start(&place, IngestConfig { log, ..place.config() }).await;
    let writer = place.start_with(cluster.config(&place, "first")).await;
    let mut sent = 0;
    for round in 0..6 {
        for number in 0..10 {
            let name = format!("small-{round}-{number}");
            assert_eq!(post(&receiver, body(&[name.as_str()])).await.status, 200);
        }
        let names: Vec<_> = (0..500).map(|number| format!("large-{round}-{number}")).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        assert_eq!(post(&receiver, body(&names)).await.status, 200);
        sent += 510;
        if round == 2 {
            kafka_support::until("some are stored", &[&writer], || writer.counts().stored > 0).await;
        }
    }
    let counts = receiver.counts();
    assert_eq!((counts.received, counts.forwarded, counts.in_flight), (sent, sent, 0));
    drop(writer);
    let writer = place.start_with(cluster.config(&place, "second")).await;
    kafka_support::until_stored(&place, sent, &[&writer]).await;
    kafka_support::each_once(&place, usize::try_from(sent).unwrap()).await;
    assert!(kafka_support::letters(&place, "second").is_empty());
}
