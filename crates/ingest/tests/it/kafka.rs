//! Spans from Kafka: each once, from the first message on.

use std::sync::Arc;
use std::time::Duration;

use plimsoll_ingest::{DeadLetterOptions, Ingest, IngestError, KafkaSource};
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::{Offset, TopicPartitionList};

use crate::kafka_support::{Cluster, TOPIC, each_once, numbered, until, until_stored};
use crate::support::{Place, strings};

/// What stands on the topic is in the lake, from the first message on, and what comes later too; the rows
/// say where they came from, and nothing lags.
#[tokio::test(flavor = "multi_thread")]
async fn messages_are_stored() {
    let (cluster, (place, _)) = (Cluster::new(1, 4), Place::in_memory());
    for partition in 0..4 {
        cluster.send(partition, numbered(&format!("p{partition}-"), 0..50));
    }
    let ingest = place.start_with(cluster.config(&place, "a")).await;
    until_stored(&place, 200, &[&ingest]).await;
    each_once(&place, 200).await;
    cluster.send(2, numbered("later-", 0..10));
    until_stored(&place, 210, &[&ingest]).await;
    let mut sources = strings(&place.rows("spans").await, "source");
    sources.sort();
    sources.dedup();
    assert_eq!(sources, [0, 1, 2, 3].map(|partition| format!("kafka/{TOPIC}/{partition}")));
    let lagless = || {
        let status = ingest.kafka().unwrap();
        status.partitions.len() == 4 && status.partitions.iter().all(|at| at.lag == Some(0))
    };
    until("a lag of none", &[&ingest], lagless).await;
    assert!(ingest.ready() && ingest.alive());
    assert_eq!(ingest.kafka().unwrap().messages, 210);
    let counts = ingest.counts();
    assert_eq!((counts.received, counts.stored, counts.in_flight, counts.dead_letters), (210, 210, 0, 0));
}

/// The numbers in the table carry the topic's id and the offset that comes next; the group's own offsets
/// follow, for monitors.
#[tokio::test(flavor = "multi_thread")]
async fn offsets_are_in_the_commit_and_then_in_the_group() {
    let (cluster, (place, _)) = (Cluster::new(1, 2), Place::in_memory());
    cluster.send(1, numbered("s", 0..7));
    let ingest = place.start_with(cluster.config(&place, "a")).await;
    until_stored(&place, 7, &[&ingest]).await;
    let snapshot = place.lake.table("spans").await.unwrap().snapshot().await.unwrap();
    let numbers: Vec<_> = snapshot.txns().iter().filter(|(name, _)| name.starts_with("kafka/")).collect();
    assert_eq!(numbers.len(), 1, "{numbers:?}");
    let name: Vec<&str> = numbers[0].0.split('/').collect();
    assert_eq!((name.len(), name[3], *numbers[0].1), (4, "1", 7), "{numbers:?}");
    assert_ne!(name[2], TOPIC, "the topic's id, not its name");
    let monitor: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", cluster.mock.bootstrap_servers())
        .set("group.id", "plimsoll")
        .create()
        .unwrap();
    let committed = || {
        let mut list = TopicPartitionList::new();
        list.add_partition(TOPIC, 1);
        let found = monitor.committed_offsets(list, Duration::from_secs(10));
        found.is_ok_and(|list| list.elements()[0].offset() == Offset::Offset(7))
    };
    until("the group's offset", &[&ingest], committed).await;
}

/// A process that ends or is killed is followed by one that goes on where the lake is, whatever the group's
/// offsets say.
#[tokio::test(flavor = "multi_thread")]
async fn a_restart_goes_on_where_the_lake_is() {
    let (cluster, (place, _)) = (Cluster::new(1, 2), Place::in_memory());
    cluster.send(0, numbered("a", 0..100));
    let ingest = place.start_with(cluster.config(&place, "a")).await;
    until_stored(&place, 100, &[&ingest]).await;
    drop(ingest);
    cluster.send(0, numbered("b", 0..100));
    let ingest = place.start_with(cluster.config(&place, "a")).await;
    until_stored(&place, 200, &[&ingest]).await;
    cluster.send(1, numbered("c", 0..100));
    until("reading", &[&ingest], || ingest.kafka().unwrap().messages == 200).await;
    let shutdown = ingest.shutdown(Duration::from_secs(60)).await;
    cluster.send(1, numbered("d", 0..100));
    let ingest = place.start_with(cluster.config(&place, "a")).await;
    until_stored(&place, 400, &[&ingest]).await;
    each_once(&place, 400).await;
    assert!(shutdown.flushed <= 100);
}

/// A clean end flushes what was read, so that the next process has nothing to read again.
#[tokio::test(flavor = "multi_thread")]
async fn a_clean_end_flushes() {
    let (cluster, (place, _)) = (Cluster::new(1, 1), Place::in_memory());
    cluster.send(0, numbered("a", 0..50));
    let mut config = cluster.config(&place, "a");
    config.flush.every = Duration::from_secs(3600);
    let ingest = place.start_with(config).await;
    until("reading", &[&ingest], || ingest.kafka().unwrap().messages == 50).await;
    let shutdown = ingest.shutdown(Duration::from_secs(60)).await;
    assert_eq!(shutdown.flushed, 50);
    each_once(&place, 50).await;
}

/// A topic that does not exist yet is waited for, and read from its first message; so is a new match of a
/// pattern.
#[tokio::test(flavor = "multi_thread")]
async fn topics_may_come_later() {
    let (cluster, (place, _)) = (Cluster::new(1, 1), Place::in_memory());
    let mut config = cluster.config(&place, "a");
    let mut source = cluster.source();
    source.topics = vec!["later".to_owned(), "^team-.*".to_owned()];
    source.connection.properties.insert("topic.metadata.refresh.interval.ms".to_owned(), "500".to_owned());
    config.kafka = Some(source);
    let ingest = place.start_with(config).await;
    tokio::time::sleep(Duration::from_millis(700)).await;
    for topic in ["later", "team-a"] {
        cluster.mock.create_topic(topic, 1, 1).unwrap();
        for body in numbered(topic, 0..20) {
            cluster.send_with(topic, 0, body, &[]);
        }
        cluster.flush();
    }
    until_stored(&place, 40, &[&ingest]).await;
    each_once(&place, 40).await;
    assert!(ingest.ready(), "{:?}", ingest.not_ready());
}

/// Wrong settings are a sentence at the start.
#[tokio::test(flavor = "multi_thread")]
async fn wrong_settings_end_the_start() {
    let (cluster, (place, _)) = (Cluster::new(1, 1), Place::in_memory());
    let start = async |name: &str, change: &dyn Fn(&mut KafkaSource)| {
        let mut config = cluster.config(&place, name);
        let mut source = cluster.source();
        change(&mut source);
        config.kafka = Some(source);
        config.dead_letters = DeadLetterOptions::new(place.directory.path().join("dead"));
        Ingest::start(config, place.lake.clone(), Arc::clone(&place.decoder)).await
    };
    let set = |source: &mut KafkaSource, name: &str, value: &str| {
        source.connection.properties.insert(name.to_owned(), value.to_owned());
    };
    let wrong: [&dyn Fn(&mut KafkaSource); 4] = [
        &|source| source.topics.clear(),
        &|source| set(source, "auto.offset.reset", "latest"),
        &|source| set(source, "no.such.setting", "x"),
        &|source| set(source, "ssl.ca.location", "/no/such/file"),
    ];
    for (number, change) in wrong.into_iter().enumerate() {
        let started = start(&number.to_string(), change).await;
        // The last is known only where TLS is asked for.
        assert!(number == 3 || matches!(started, Err(IngestError::Kafka(_))), "{number}");
    }
}
