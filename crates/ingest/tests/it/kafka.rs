//! Spans from Kafka: each once, whatever happens on the way.

use crate::kafka_support::{Cluster, each_once, numbered, until, until_stored};
use crate::support::Place;

/// What stands on the topic is in the lake, from the first message on, and the group's lag is none.
#[tokio::test(flavor = "multi_thread")]
async fn messages_are_stored() {
    let (cluster, place) = (Cluster::new(1, 4), Place::in_memory().await);
    for partition in 0..4 {
        cluster.send(partition, numbered(&format!("p{partition}-"), 0..50));
    }
    let ingest = place.start_with(cluster.config(&place, "a")).await;
    until_stored(&place, 200, &[&ingest]).await;
    each_once(&place, 200).await;
    until("counts", &[&ingest], || ingest.counts().stored == 200 && ingest.counts().in_flight == 0).await;
    cluster.send(2, numbered("later-", 0..10));
    until_stored(&place, 210, &[&ingest]).await;
    assert!(ingest.ready() && ingest.alive());
    let status = ingest.kafka().unwrap();
    assert_eq!((status.messages, status.partitions.len()), (210, 4));
}
