//! Kafka or the lake in trouble: nothing lost, nothing twice, one clear reason, and no hands needed.

use std::time::Duration;

use plimsoll_ingest::KafkaConnection;
use prost::Message;
use rdkafka::mocking::MockCoordinator;
use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};

use crate::kafka_support::{Cluster, TOPIC, each_once, numbered, until, until_stored};
use crate::support::{Place, body, nameless, request, span, timeless};

/// T31, first half: the sink fails, the process is killed, and the next one stores the message: an offset
/// is never ahead of the rows.
#[tokio::test(flavor = "multi_thread")]
async fn t31_a_message_outlives_a_failing_sink_and_a_kill() {
    let (cluster, (place, weather)) = (Cluster::new(1, 1), Place::in_memory());
    // The tables are there before the trouble begins.
    drop(place.start_with(cluster.config(&place, "a")).await);
    cluster.send(0, [body(&["the one"])]);
    let failing = weather.elsewhere();
    let ingest = place.start_under(&failing, cluster.config(&place, "a")).await;
    failing.refuse(true);
    until("a failure", &[&ingest], || ingest.counts().failed_flushes > 0).await;
    assert_eq!((ingest.counts().in_flight, ingest.counts().stored), (1, 0));
    drop(ingest);
    assert!(place.names().await.is_empty());
    let ingest = place.start_with(cluster.config(&place, "a")).await;
    until_stored(&place, 1, &[&ingest]).await;
    each_once(&place, 1).await;
}

/// T31, second half: a hundred thousand spans and a sink that is slow: reading pauses and goes on, memory
/// stays bounded, the sums hold at every sample, and each span is stored once.
#[tokio::test(flavor = "multi_thread")]
async fn t31_a_slow_sink_loses_nothing() {
    let (cluster, (place, weather)) = (Cluster::new(1, 8), Place::in_memory());
    let names: Vec<String> = (0..100_000).map(|number| format!("s{number}")).collect();
    for (number, names) in names.chunks(50).enumerate() {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        cluster.send_with(TOPIC, (number % 8) as i32, body(&names), &[]);
    }
    cluster.flush();
    weather.slow(Duration::from_millis(500));
    let mut config = cluster.config(&place, "a");
    config.flush.file_bytes = 4 << 20;
    let ingest = place.start_with(config).await;
    until_stored(&place, 100_000, &[&ingest]).await;
    each_once(&place, 100_000).await;
    until("counts", &[&ingest], || ingest.counts().stored == 100_000 && ingest.counts().in_flight == 0).await;
}

/// A lake that takes nothing makes reading pause, not memory grow; once it takes again all is stored, by
/// itself.
#[tokio::test(flavor = "multi_thread")]
async fn a_lake_that_refuses_is_waited_for() {
    let (cluster, (place, weather)) = (Cluster::new(1, 8), Place::in_memory());
    let mut config = cluster.config(&place, "a");
    config.flush.file_bytes = 10_000;
    let ingest = place.start_with(config).await;
    weather.refuse(true);
    // 20 MB: more than may be under way.
    let filler = "x".repeat(100_000);
    for number in 0..200 {
        let name = format!("{number}{filler}");
        cluster.send_with(TOPIC, number % 8, body(&[&name]), &[]);
    }
    cluster.flush();
    until("a pause", &[&ingest], || ingest.kafka().unwrap().paused && ingest.counts().failed_flushes > 3)
        .await;
    assert!(ingest.kafka().unwrap().messages < 200, "{:?}", ingest.kafka());
    assert!(ingest.alive());
    weather.refuse(false);
    until_stored(&place, 200, &[&ingest]).await;
    each_once(&place, 200).await;
    until("going on", &[&ingest], || !ingest.kafka().unwrap().paused).await;
}

/// A member that is told to end before it knows where to read from closes, instead of waiting for ever for an
/// answer that it owes the group itself.
#[tokio::test(flavor = "multi_thread")]
async fn an_end_before_the_first_message() {
    let (cluster, (place, weather)) = (Cluster::new(1, 2), Place::in_memory());
    let ingest = place.start_with(cluster.config(&place, "a")).await;
    weather.refuse(true);
    until("partitions", &[&ingest], || ingest.kafka().unwrap().rebalances > 0).await;
    assert!(ingest.kafka().unwrap().partitions.is_empty());
    let ended = tokio::time::timeout(Duration::from_secs(120), ingest.shutdown(Duration::from_secs(3600)));
    assert!(ended.await.is_ok(), "it never ends");
}

/// A commit whose answer was lost is known again although more has come meanwhile: all rows are stored,
/// each once.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_neither_loses_nor_repeats() {
    let (cluster, (place, weather)) = (Cluster::new(1, 2), Place::in_memory());
    let mut config = cluster.config(&place, "a");
    config.flush.every = Duration::from_secs(3600);
    config.flush.retry = (Duration::from_secs(3600), Duration::from_secs(3600));
    let ingest = place.start_with(config).await;
    for round in 0..5 {
        cluster.send(0, numbered(&format!("{round}-first-"), 0..20));
        cluster.send(
            1,
            [request(vec![span(&format!("{round}-third")), timeless("odd"), nameless("bad")])
                .encode_to_vec()],
        );
        let expected = 22;
        until("the first", &[&ingest], || ingest.counts().in_flight == expected + 1).await;
        weather.lose_an_answer();
        assert!(ingest.flush().await.is_err());
        assert!(weather.clear_up());
        cluster.send(0, numbered(&format!("{round}-second-"), 0..20));
        until("the second", &[&ingest], || ingest.counts().in_flight >= 41).await;
        ingest.flush().await.unwrap();
        let counts = ingest.counts();
        let rounds = round + 1;
        assert_eq!((counts.stored, counts.quarantined, counts.rejected), (41 * rounds, rounds, rounds));
        assert_eq!(counts.in_flight, 0);
    }
    each_once(&place, 205).await;
    assert_eq!(ingest.kafka().unwrap().rewinds, 0);
}

/// The same for requests over OTLP, whose journal is released by it.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_loses_no_request() {
    let (place, weather) = Place::in_memory();
    let mut config = place.config();
    config.flush.retry = (Duration::from_secs(3600), Duration::from_secs(3600));
    let ingest = place.start_with(config).await;
    assert_eq!(crate::support::post(&ingest, body(&["first"])).await.status, 200);
    weather.lose_an_answer();
    assert!(ingest.flush().await.is_err());
    assert!(weather.clear_up());
    assert_eq!(crate::support::post(&ingest, body(&["second"])).await.status, 200);
    ingest.flush().await.unwrap();
    each_once(&place, 2).await;
    assert_eq!(ingest.counts().stored, 2);
    assert!(ingest.alive());
}

/// Brokers go and come back, the coordinator moves, fetches fail: reading goes on where it was.
#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_in_trouble_is_outlived() {
    let (cluster, (place, _)) = (Cluster::new(3, 4), Place::in_memory());
    let ingest = place.start_with(cluster.config(&place, "a")).await;
    let mut sent = 0;
    let mut send = || {
        for partition in 0..4 {
            cluster.send(partition, numbered("s", sent..sent + 25));
            sent += 25;
        }
        sent as u64
    };
    let stored = send();
    until_stored(&place, stored, &[&ingest]).await;

    cluster.mock.request_errors(
        RDKafkaApiKey::Fetch,
        &[
            RDKafkaRespErr::RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
            RDKafkaRespErr::RD_KAFKA_RESP_ERR__TRANSPORT,
            RDKafkaRespErr::RD_KAFKA_RESP_ERR_UNKNOWN_LEADER_EPOCH,
        ],
    );
    let stored = send();
    until_stored(&place, stored, &[&ingest]).await;

    cluster.mock.coordinator(MockCoordinator::Group("plimsoll".to_owned()), 2).unwrap();
    let stored = send();
    until_stored(&place, stored, &[&ingest]).await;

    for partition in 0..4 {
        cluster.mock.partition_leader(TOPIC, partition, Some(1)).unwrap();
    }
    cluster.mock.broker_down(2).unwrap();
    cluster.mock.broker_down(3).unwrap();
    let stored = send();
    cluster.mock.broker_up(2).unwrap();
    cluster.mock.broker_up(3).unwrap();
    until_stored(&place, stored, &[&ingest]).await;

    for broker in 1..=3 {
        cluster.mock.broker_down(broker).unwrap();
    }
    let reason = || ingest.not_ready().is_some_and(|reason| reason.contains("no broker"));
    until("a reason", &[&ingest], reason).await;
    assert!(ingest.alive());
    for broker in 1..=3 {
        cluster.mock.broker_up(broker).unwrap();
    }
    let stored = send();
    until_stored(&place, stored, &[&ingest]).await;
    each_once(&place, sent).await;
    until("readiness", &[&ingest], || ingest.ready()).await;
}

/// A commit of the group's offsets that fails is made good, though nothing more comes: its lag goes to 0.
#[tokio::test(flavor = "multi_thread")]
async fn a_quiet_topic_shows_no_lag_after_a_failed_commit() {
    let (cluster, (place, _)) = (Cluster::new(1, 2), Place::in_memory());
    let ingest = place.start_with(cluster.config(&place, "a")).await;
    let refused = [RDKafkaRespErr::RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS; 2];
    cluster.mock.request_errors(RDKafkaApiKey::OffsetCommit, &refused);
    for partition in 0..2 {
        cluster.send(partition, numbered(&format!("s{partition}-"), 0..20));
    }
    until_stored(&place, 40, &[&ingest]).await;
    until("the group's offsets", &[&ingest], || cluster.committed(2) == [Some(20), Some(20)]).await;
}

/// A cluster that can't be reached is no reason not to start: readiness says what is in the way.
#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_is_not_there_is_waited_for() {
    let (cluster, (place, _)) = (Cluster::new(1, 1), Place::in_memory());
    for (name, address) in [("a", "127.0.0.1:1"), ("b", "no-such-host.invalid:9092")] {
        let mut config = cluster.config(&place, name);
        let mut source = cluster.source();
        source.connection = KafkaConnection::new(address);
        config.kafka = Some(source);
        let ingest = place.start_with(config).await;
        until("a reason", &[&ingest], || {
            ingest.not_ready().is_some_and(|reason| reason.contains("kafka.brokers"))
        })
        .await;
        assert!(ingest.alive());
        let ended = ingest.shutdown(Duration::from_secs(20)).await;
        assert_eq!(ended.flushed, 0);
    }
}

/// A member that was thrown out for good (another process under its name) says so, joins anew by itself, and
/// loses nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_fenced_member_joins_anew() {
    let (cluster, (place, _)) = (Cluster::new(1, 2), Place::in_memory());
    let ingest = place.start_with(cluster.config(&place, "a")).await;
    cluster.send(0, numbered("before-", 0..20));
    until_stored(&place, 20, &[&ingest]).await;
    let fenced = [RDKafkaRespErr::RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID; 2];
    cluster.mock.request_errors(RDKafkaApiKey::Heartbeat, &fenced);
    let said = || ingest.not_ready().is_some_and(|reason| reason.contains("another process has joined"));
    until("a reason", &[&ingest], said).await;
    assert!(ingest.alive());
    cluster.mock.clear_request_errors(RDKafkaApiKey::Heartbeat);
    cluster.send(1, numbered("after-", 0..20));
    until_stored(&place, 40, &[&ingest]).await;
    each_once(&place, 40).await;
    until("readiness", &[&ingest], || ingest.ready()).await;
}

/// A topic that may not be read is named; once it may, it is.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_allowed_is_said() {
    let (cluster, (place, _)) = (Cluster::new(1, 1), Place::in_memory());
    cluster.send(0, numbered("s", 0..20));
    cluster.mock.topic_error(TOPIC, RDKafkaRespErr::RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED).unwrap();
    let ingest = place.start_with(cluster.config(&place, "a")).await;
    let said =
        || ingest.not_ready().is_some_and(|reason| reason.contains("not allowed") && reason.contains(TOPIC));
    until("a reason", &[&ingest], said).await;
    cluster.mock.topic_error(TOPIC, RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR).unwrap();
    until_stored(&place, 20, &[&ingest]).await;
    until("readiness", &[&ingest], || ingest.ready()).await;
}

/// A topic that goes away takes its partitions along; when it is back they are read on from where the lake
/// is.
#[tokio::test(flavor = "multi_thread")]
async fn a_topic_may_go_and_come_back() {
    let (cluster, (place, _)) = (Cluster::new(1, 2), Place::in_memory());
    let mut config = cluster.config(&place, "a");
    let mut source = cluster.source();
    source.connection.properties.insert("topic.metadata.refresh.interval.ms".to_owned(), "500".to_owned());
    config.kafka = Some(source);
    let ingest = place.start_with(config).await;
    cluster.send(0, numbered("before-", 0..20));
    until_stored(&place, 20, &[&ingest]).await;
    cluster.mock.topic_error(TOPIC, RDKafkaRespErr::RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART).unwrap();
    until("none", &[&ingest], || ingest.kafka().unwrap().partitions.is_empty()).await;
    assert!(ingest.alive());
    cluster.mock.topic_error(TOPIC, RDKafkaRespErr::RD_KAFKA_RESP_ERR_NO_ERROR).unwrap();
    cluster.send(1, numbered("after-", 0..20));
    until_stored(&place, 40, &[&ingest]).await;
    each_once(&place, 40).await;
}
