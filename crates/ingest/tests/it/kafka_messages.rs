//! What messages may be: junk, empty, of another signal, compressed, JSON, half bad. Good spans are stored,
//! and what gives none is a dead letter, whole.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::{
    Gauge, Metric, NumberDataPoint, ResourceMetrics, ScopeMetrics,
};
use prost::Message;

use crate::kafka_support::{Cluster, TOPIC, each_once, letters, numbered, until, until_stored};
use crate::support::{Place, attribute, body, nameless, request, span, strings, timeless};

/// T32: a poison message costs a dead letter that says where it stood and why; the lag goes away, and the
/// message is read once.
#[tokio::test(flavor = "multi_thread")]
async fn t32_a_poison_message_is_a_dead_letter() {
    let (cluster, (place, _)) = (Cluster::new(1, 1), Place::in_memory());
    cluster.send(0, [body(&["good"]), vec![0xff, 0x01, 0x02], body(&["also good"])]);
    let ingest = place.start_with(cluster.config(&place, "a")).await;
    until_stored(&place, 2, &[&ingest]).await;
    let lagless = || ingest.kafka().unwrap().partitions.first().and_then(|at| at.lag) == Some(0);
    until("a lag of none", &[&ingest], lagless).await;
    let letters = letters(&place, "a");
    assert_eq!(letters.len(), 1, "{letters:?}");
    let (name, letter) = letters.first_key_value().unwrap();
    assert!(name.starts_with(&format!("kafka-{TOPIC}-")) && name.ends_with("-0-1.json"), "{name}");
    let from = &letter["from"]["kafka"];
    assert_eq!(
        (from["topic"].as_str(), from["partition"].as_i64(), from["offset"].as_i64()),
        (Some(TOPIC), Some(0), Some(1))
    );
    assert!(letter["reason"].as_str().unwrap().contains("not an OTLP"), "{letter}");
    assert_eq!(letter["body"].as_str().unwrap(), STANDARD.encode([0xff, 0x01, 0x02]));
    let status = ingest.kafka().unwrap();
    assert_eq!((status.messages, status.rewinds, ingest.counts().dead_letters), (3, 0, 1));
    // A restart has nothing to do.
    drop(ingest);
    let ingest = place.start_with(cluster.config(&place, "a")).await;
    cluster.send(0, [body(&["later"])]);
    until_stored(&place, 3, &[&ingest]).await;
    assert_eq!(ingest.counts().dead_letters, 0);
}

/// What messages can be, one after another: each is stored or a letter with its reason, in its place.
#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_message_has_its_place() {
    let (cluster, (place, _)) = (Cluster::new(1, 1), Place::in_memory());
    let send = |body: Vec<u8>, headers: &[(&str, &str)]| cluster.send_with(TOPIC, 0, body, headers);
    let proto = ("Content-Type", "application/x-protobuf");

    // Stored.
    send(gzip(&body(&["gzip"])), &[("content-encoding", "gzip")]);
    send(zstd::encode_all(&body(&["zstd"])[..], 1).unwrap(), &[("Content-Encoding", "zstd"), proto]);
    send(json("json sniffed"), &[]);
    send(json("json told"), &[("content-type", "application/json; charset=utf-8")]);
    send(logs(), &[("plimsoll.signal", "logs")]);
    send(logs(), &[]);
    let huge = attribute("custom.payload", Value::StringValue("x".repeat(900_000)));
    let mut large = span("900 KB");
    large.attributes.push(huge);
    send(request(vec![large]).encode_to_vec(), &[]);
    // Stored in part, and kept whole.
    send(request(vec![span("half"), nameless("bad")]).encode_to_vec(), &[]);
    send(request(vec![span("other half"), timeless("odd")]).encode_to_vec(), &[]);
    // Letters.
    send(Vec::new(), &[]);
    send(b"junk".to_vec(), &[]);
    send(body(&["lz4"]), &[("content-encoding", "lz4")]);
    send(b"not gzip".to_vec(), &[("content-encoding", "gzip")]);
    send(metrics(), &[]);
    send(metrics(), &[("plimsoll.signal", "metrics")]);
    send(body(&["profile"]), &[("plimsoll.signal", "profiles")]);
    send(b"{\"a\":1}".to_vec(), &[]);
    send(request(vec![nameless("bad")]).encode_to_vec(), &[]);
    send(gzip(&vec![0; 3 << 20]), &[("content-encoding", "gzip")]);
    send(body(&["last"]), &[]);
    cluster.flush();

    let mut config = cluster.config(&place, "a");
    config.limits.max_message_bytes = 2 << 20;
    let ingest = place.start_with(config).await;
    until_stored(&place, 10, &[&ingest]).await;
    until("counts", &[&ingest], || ingest.counts().in_flight == 0).await;
    let names = place.names().await;
    for name in ["gzip", "zstd", "json sniffed", "json told", "900 KB", "half", "other half", "last"] {
        assert_eq!(names.get(name), Some(&1), "{name}: {names:?}");
    }
    assert_eq!(strings(&place.rows("quarantine").await, "reason"), ["time_out_of_range"]);
    let counts = ingest.counts();
    assert_eq!((counts.received, counts.stored, counts.quarantined, counts.rejected), (13, 10, 1, 2));
    assert_eq!((counts.log_calls, counts.dead_letters), (2, 11));
    let reasons: Vec<(u64, String)> = letters(&place, "a")
        .into_values()
        .map(|letter| {
            let offset = letter["from"]["kafka"]["offset"].as_u64().unwrap();
            (offset, letter["reason"].as_str().unwrap().to_owned())
        })
        .collect();
    let expected = [
        (7, "trace id"),
        (9, "empty"),
        (10, "not an OTLP"),
        (11, "`lz4`"),
        (12, "decompressed"),
        (13, "metrics"),
        (14, "metrics"),
        (15, "`profiles`"),
        (16, "neither traces nor logs"),
        (17, "trace id"),
        (18, "larger than"),
    ];
    assert_eq!(reasons.len(), expected.len(), "{reasons:?}");
    for (offset, part) in expected {
        let reason = reasons.iter().find(|(at, _)| *at == offset).map(|(_, reason)| reason.as_str());
        assert!(reason.is_some_and(|reason| reason.contains(part)), "{offset}: {reason:?}");
    }
    assert!(ingest.ready());
}

/// Dead letters can go to a topic: value and headers as they came, with where from and why in headers of
/// their own.
#[tokio::test(flavor = "multi_thread")]
async fn dead_letters_can_go_to_a_topic() {
    use plimsoll_ingest::{DeadLetterOptions, DeadLetterPlace};
    use rdkafka::consumer::{BaseConsumer, Consumer};
    use rdkafka::message::{Headers, Message as _};

    let (cluster, (place, _)) = (Cluster::new(1, 1), Place::in_memory());
    cluster.mock.create_topic("dead", 1, 1).unwrap();
    cluster.send_with(TOPIC, 0, b"junk".to_vec(), &[("team", "a")]);
    cluster.send(0, [body(&["good"])]);
    let mut config = cluster.config(&place, "a");
    config.dead_letters = DeadLetterOptions {
        place: DeadLetterPlace::Topic { connection: cluster.connection(), topic: "dead".to_owned() },
        ..config.dead_letters
    };
    let ingest = place.start_with(config).await;
    until_stored(&place, 1, &[&ingest]).await;
    let reader: BaseConsumer = rdkafka::ClientConfig::new()
        .set("bootstrap.servers", cluster.mock.bootstrap_servers())
        .set("group.id", "undertaker")
        .set("auto.offset.reset", "earliest")
        .create()
        .unwrap();
    reader.subscribe(&["dead"]).unwrap();
    let mut found = None;
    until("the letter", &[&ingest], || {
        if let Some(Ok(message)) = reader.poll(std::time::Duration::from_millis(100)) {
            found = Some(message.detach());
        }
        found.is_some()
    })
    .await;
    let letter = found.unwrap();
    assert_eq!(letter.payload(), Some(&b"junk"[..]));
    let headers = letter.headers().unwrap();
    let header = |name: &str| {
        let found = headers.iter().find(|header| header.key == name);
        String::from_utf8_lossy(found.unwrap().value.unwrap()).into_owned()
    };
    assert_eq!(header("team"), "a");
    assert_eq!(
        (header("plimsoll.dead_letter.topic"), header("plimsoll.dead_letter.offset")),
        (TOPIC.to_owned(), "0".to_owned())
    );
    assert!(header("plimsoll.dead_letter.reason").contains("not an OTLP"));
    assert!(letters(&place, "a").is_empty());
}

/// Without a place for dead letters nothing goes on, and readiness says why; once there is one, everything
/// does by itself.
#[tokio::test(flavor = "multi_thread")]
async fn dead_letters_without_a_place_are_waited_for() {
    let (cluster, (place, _)) = (Cluster::new(1, 1), Place::in_memory());
    cluster.send(0, [body(&["before"]), b"junk".to_vec(), body(&["after"])]);
    let mut config = cluster.config(&place, "a");
    let folder = place.directory.path().join("dead");
    // A file where the folder is to be.
    std::fs::write(&folder, "in the way").unwrap();
    config.dead_letters = plimsoll_ingest::DeadLetterOptions::new(&folder);
    let ingest = place.start_with(config).await;
    until("a reason", &[&ingest], || {
        ingest.not_ready().is_some_and(|reason| reason.contains("dead letters"))
    })
    .await;
    std::fs::remove_file(&folder).unwrap();
    until_stored(&place, 2, &[&ingest]).await;
    until("readiness", &[&ingest], || ingest.ready()).await;
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
}

/// Messages of one span each are as many rows, and no more memory than that.
#[tokio::test(flavor = "multi_thread")]
async fn small_messages_are_joined() {
    let (cluster, (place, _)) = (Cluster::new(1, 1), Place::in_memory());
    cluster.send(0, numbered("s", 0..2000));
    let mut config = cluster.config(&place, "a");
    config.flush.every = std::time::Duration::from_secs(3600);
    let ingest = place.start_with(config).await;
    until("reading", &[&ingest], || ingest.counts().in_flight == 2000).await;
    ingest.flush().await.unwrap();
    each_once(&place, 2000).await;
    let files = place.lake.table("spans").await.unwrap().snapshot().await.unwrap().files().len();
    assert_eq!(files, 1);
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn json(name: &str) -> Vec<u8> {
    serde_json::to_vec(&request(vec![span(name)])).unwrap()
}

/// A log record that tells of a call, and one that doesn't.
fn logs() -> Vec<u8> {
    crate::logs::request(&[10]).encode_to_vec()
}

fn metrics() -> Vec<u8> {
    let gauge = Gauge { data_points: vec![NumberDataPoint::default()] };
    let metric = Metric { name: "m".to_owned(), data: Some(Data::Gauge(gauge)), ..Metric::default() };
    let scope_metrics = vec![ScopeMetrics { metrics: vec![metric], ..ScopeMetrics::default() }];
    ExportMetricsServiceRequest {
        resource_metrics: vec![ResourceMetrics { scope_metrics, ..ResourceMetrics::default() }],
    }
    .encode_to_vec()
}
