//! Several readers in one group on one lake: partitions move, readers are killed, and each span is stored
//! once.

use std::time::Duration;

use plimsoll_ingest::Ingest;

use crate::kafka_support::{Cluster, TOPIC, each_once, holds, numbered, until, until_stored};
use crate::support::{Place, body};

/// Partitions that a reader has.
fn partitions(ingest: &Ingest) -> usize {
    ingest.kafka().unwrap().partitions.len()
}

/// A reader that joins takes its share, one that ends leaves its own to the others, and one that is killed
/// loses them within seconds; no span is lost or repeated on the way.
#[tokio::test(flavor = "multi_thread")]
async fn partitions_move_and_each_span_is_stored_once() {
    let (cluster, (place, weather)) = (Cluster::new(1, 6), Place::in_memory());
    let mut sent = 0;
    let mut send = |times: usize| {
        for _ in 0..times {
            for partition in 0..6 {
                cluster.send(partition, numbered("s", sent..sent + 20));
                sent += 20;
            }
        }
        sent as u64
    };
    let first = place.start_under(&weather.elsewhere(), cluster.config(&place, "a")).await;
    send(2);
    until("all partitions", &[&first], || partitions(&first) == 6).await;
    let second = place.start_under(&weather.elsewhere(), cluster.config(&place, "b")).await;
    send(2);
    until("a share", &[&first, &second], || partitions(&first) == 3 && partitions(&second) == 3).await;
    let stored = send(2);
    until_stored(&place, stored, &[&first, &second]).await;
    // Killed in the middle of it.
    send(2);
    drop(second);
    send(2);
    until("all partitions again", &[&first], || partitions(&first) == 6).await;
    let third = place.start_under(&weather.elsewhere(), cluster.config(&place, "c")).await;
    send(2);
    until("a share again", &[&first, &third], || partitions(&first) == 3 && partitions(&third) == 3).await;
    send(1);
    first.shutdown(Duration::from_secs(60)).await;
    let stored = send(1);
    until_stored(&place, stored, &[&third]).await;
    each_once(&place, sent).await;
    assert!(holds(third.counts()));
}

/// T33: a partition moves while its reader is in a flush that takes longer than the poll interval: the
/// reader polls on and stays in the group, the commit counts once, and nothing is stored twice.
#[tokio::test(flavor = "multi_thread")]
async fn t33_a_partition_moves_in_the_middle_of_a_long_flush() {
    let (cluster, (place, weather)) = (Cluster::new(1, 2), Place::in_memory());
    let config = |name: &str| {
        let mut config = cluster.config(&place, name);
        let mut source = cluster.source();
        for name in ["max.poll.interval.ms", "session.timeout.ms"] {
            source.connection.properties.insert(name.to_owned(), "6000".to_owned());
        }
        config.kafka = Some(source);
        config
    };
    let slow = weather.elsewhere();
    let first = place.start_under(&slow, config("a")).await;
    until("all partitions", &[&first], || partitions(&first) == 2).await;
    slow.slow(Duration::from_secs(8));
    for partition in 0..2 {
        cluster.send(partition, numbered(&format!("p{partition}-"), 0..100));
    }
    until("reading", &[&first], || first.counts().in_flight == 200).await;
    let second = place.start_under(&weather.elsewhere(), config("b")).await;
    for partition in 0..2 {
        cluster.send(partition, numbered(&format!("p{partition}-"), 100..200));
    }
    let shared = || {
        // A reader that was thrown out would leave both to the other.
        assert!(partitions(&second) <= 1);
        partitions(&first) == 1 && partitions(&second) == 1
    };
    until("a share", &[&first, &second], shared).await;
    until_stored(&place, 400, &[&first, &second]).await;
    each_once(&place, 400).await;
    assert_eq!(first.kafka().unwrap().rewinds + second.kafka().unwrap().rewinds, 0);
    assert!(first.ready() && second.ready());
}

/// A reader that was taken for dead and goes on committing (a long pause of the machine, say) is found out
/// by the tables: what it holds is dropped, and it reads again from where they are.
#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_was_passed_by_rewinds() {
    let (cluster, (place, _)) = (Cluster::new(1, 1), Place::in_memory());
    // In another group, so that both read the same partition.
    let config = |name: &str, group: &str| {
        let mut config = cluster.config(&place, name);
        let mut source = cluster.source();
        source.group = group.to_owned();
        config.kafka = Some(source);
        config.flush.every = Duration::from_secs(3600);
        config
    };
    let first = place.start_with(config("a", "one")).await;
    let second = place.start_with(config("b", "two")).await;
    for round in 0..4 {
        cluster.send(0, numbered(&format!("{round}-"), 0..50));
        let both = [&first, &second];
        until("reading", &both, || both.iter().all(|ingest| ingest.counts().in_flight == 50)).await;
        // The one commits, the other finds that out, reads again and has nothing to add.
        let (quick, late) = if round % 2 == 0 { (&first, &second) } else { (&second, &first) };
        let before = late.kafka().unwrap().rewinds;
        quick.flush().await.unwrap();
        late.flush().await.unwrap();
        let counts = late.counts();
        assert!(holds(counts) && counts.in_flight == 0, "{counts:?}");
        until("reading again", &both, || {
            let status = late.kafka().unwrap();
            status.rewinds == before + 1
                && status.partitions.first().is_some_and(|at| at.position == 50 * (round + 1))
        })
        .await;
    }
    each_once(&place, 200).await;
    assert_eq!(first.counts().stored + second.counts().stored, 200);
}

/// Many readers that come and go while others commit, with some killed: distinct and total counts agree.
#[tokio::test(flavor = "multi_thread")]
async fn readers_come_and_go() {
    let (cluster, (place, weather)) = (Cluster::new(1, 4), Place::in_memory());
    let mut readers: Vec<(String, Ingest)> = Vec::new();
    let mut sent = 0;
    for round in 0..8_usize {
        let name = format!("r{}", round % 3);
        match readers.iter().position(|(known, _)| *known == name) {
            // Killed, and back under its name at once.
            Some(at) if round % 2 == 0 => {
                let (name, ingest) = readers.remove(at);
                drop(ingest);
                let again = place.start_under(&weather.elsewhere(), cluster.config(&place, &name)).await;
                readers.push((name, again));
            }
            Some(at) => {
                readers.remove(at).1.shutdown(Duration::from_secs(30)).await;
            }
            None => {
                let ingest = place.start_under(&weather.elsewhere(), cluster.config(&place, &name)).await;
                readers.push((name, ingest));
            }
        }
        for partition in 0..4 {
            for _ in 0..5 {
                let names: Vec<String> = (sent..sent + 10).map(|number| format!("s{number}")).collect();
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                cluster.send_with(TOPIC, partition, body(&names), &[]);
                sent += 10;
            }
        }
        cluster.flush();
        tokio::time::sleep(Duration::from_millis(700)).await;
        assert!(readers.iter().all(|(_, ingest)| holds(ingest.counts())));
    }
    let left: Vec<&Ingest> = readers.iter().map(|(_, ingest)| ingest).collect();
    until_stored(&place, sent as u64, &left).await;
    each_once(&place, sent).await;
}
