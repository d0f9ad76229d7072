//! From the wire to the lake across crashes: nothing acknowledged is lost, nothing is stored twice.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_ingest::journal::{Entry, Journal, JournalError, unflushed};
use plimsoll_ingest::{Coding, Counts, Ingest, IngestError, Kept};
use plimsoll_lake::Lake;
use plimsoll_otlp::Encoding;
use prost::Message;

use crate::support::{Place, body, post, request, span, strings, timeless};

fn settled(counts: Counts) -> bool {
    counts.received
        == counts.stored + counts.quarantined + counts.rejected + counts.forwarded + counts.in_flight
}

/// A crash after the acknowledgement and before the flush: the next start stores it, once, with the
/// time at which it was received.
#[tokio::test(flavor = "multi_thread")]
async fn a_crash_before_the_flush_loses_nothing() {
    let place = Place::new().await;
    let ingest = place.start().await;
    assert_eq!(post(&ingest, body(&["one"])).await.status, 200);
    let mixed = request(vec![span("two"), timeless("odd")]).encode_to_vec();
    assert_eq!(post(&ingest, mixed).await.status, 200);
    assert_eq!((ingest.counts().in_flight, ingest.counts().stored), (3, 0));
    drop(ingest);
    assert!(place.names().await.is_empty());

    let ingest = place.start().await;
    assert_eq!(post(&ingest, body(&["three"])).await.status, 200);
    ingest.flush().await.unwrap();
    let names: Vec<_> = place.names().await.into_iter().collect();
    assert_eq!(names, [("one", 1), ("three", 1), ("two", 1)].map(|(name, n)| (name.to_owned(), n)));
    assert_eq!(strings(&place.rows("quarantine").await, "reason"), ["time_out_of_range"]);
    assert!(settled(ingest.counts()));
    assert_eq!(ingest.counts().received, 4);
    drop(ingest);

    // And once more, after everything was stored.
    let ingest = place.start().await;
    ingest.flush().await.unwrap();
    assert_eq!(place.names().await.values().sum::<usize>(), 3);
    assert_eq!(place.rows("quarantine").await.iter().map(|rows| rows.num_rows()).sum::<usize>(), 1);
    assert_eq!(ingest.counts().received, 0);
}

/// A crash between the two commits of a flush: `quarantine` has the rows, `spans` has not, and the
/// next start adds what is missing and repeats nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_crash_between_the_two_commits_repeats_nothing() {
    let place = Place::new().await;
    let ingest = place.start().await;
    let mixed = request(vec![span("good"), timeless("odd")]).encode_to_vec();
    assert_eq!(post(&ingest, mixed).await.status, 200);
    drop(ingest);
    let journal = copy(&place.journal(), &place.directory.path().join("copy"));
    let ingest = place.start().await;
    ingest.flush().await.unwrap();
    drop(ingest);
    // The commit to `spans` is taken back, and the journal is as before it.
    let log = place.directory.path().join("lake/spans/_delta_log");
    let newest = fs::read_dir(&log)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .max()
        .unwrap();
    fs::remove_file(newest).unwrap();
    fs::remove_file(journal.join("node")).unwrap();
    copy(&journal, &place.journal());

    let lake =
        Lake::open(place.directory.path().join("lake").to_str().unwrap(), Arc::clone(place.lake.schemas()))
            .await
            .unwrap();
    let place = Place { lake, ..place };
    let ingest = place.start().await;
    ingest.flush().await.unwrap();
    assert_eq!(place.names().await.into_iter().collect::<Vec<_>>(), [("good".to_owned(), 1)]);
    assert_eq!(strings(&place.rows("quarantine").await, "reason"), ["time_out_of_range"]);
    assert!(settled(ingest.counts()));
}

/// Twenty crashes under load, each at another moment: every span that was acknowledged is there once
/// by its id, and the sums hold at every look.
#[tokio::test(flavor = "multi_thread")]
async fn twenty_crashes_under_load() {
    let place = Place::new().await;
    let mut acknowledged = Vec::new();
    for round in 0..20_u64 {
        let mut config = place.config();
        config.flush.every = Duration::from_millis(30);
        let ingest = Arc::new(place.start_with(config).await);
        let senders: Vec<_> = (0..4)
            .map(|sender| {
                let ingest = Arc::clone(&ingest);
                tokio::spawn(async move {
                    let mut sent = Vec::new();
                    for n in 0..4 {
                        let name = format!("{round:02}-{sender}-{n}");
                        if post(&ingest, body(&[name.as_str()])).await.status == 200 {
                            sent.push(name);
                        }
                        assert!(settled(ingest.counts()));
                    }
                    sent
                })
            })
            .collect();
        for sender in senders {
            acknowledged.extend(sender.await.unwrap());
        }
        tokio::time::sleep(Duration::from_millis(round * 5)).await;
        drop(Arc::into_inner(ingest).unwrap());
        // A killed process takes its last file operation with it; a dropped task's runs to its end.
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let ingest = place.start().await;
    ingest.flush().await.unwrap();
    acknowledged.sort();
    assert_eq!(acknowledged.len(), 320);
    let mut stored = strings(&place.rows("spans").await, "name");
    stored.sort();
    assert_eq!(stored, acknowledged);
}

/// A clean end flushes, says what it did, and leaves no body behind.
#[tokio::test(flavor = "multi_thread")]
async fn a_clean_end_leaves_an_empty_journal() {
    let place = Place::new().await;
    let ingest = place.start().await;
    let mut flushes = ingest.flushes();
    assert_eq!(post(&ingest, body(&["a", "b"])).await.status, 200);
    let shutdown = ingest.shutdown(Duration::from_secs(20)).await;
    assert_eq!((shutdown.flushed, shutdown.left_in_journal), (2, 0));
    assert_eq!(flushes.borrow_and_update().spans, 2);
    let mut left: Vec<_> =
        fs::read_dir(place.journal()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["lock", "node"]);
    let ingest = place.start().await;
    assert_eq!(post(&ingest, body(&["c"])).await.status, 200);
    ingest.flush().await.unwrap();
    assert_eq!(place.names().await.len(), 3);
}

/// An end that has no time leaves everything in the journal, and says so.
#[tokio::test(flavor = "multi_thread")]
async fn an_end_without_time_says_what_is_left() {
    let place = Place::new().await;
    let ingest = place.start().await;
    assert_eq!(post(&ingest, body(&["left"])).await.status, 200);
    let shutdown = ingest.shutdown(Duration::ZERO).await;
    assert_eq!((shutdown.flushed, shutdown.left_in_journal, shutdown.unread), (0, 1, 0));
    let ingest = place.start().await;
    ingest.flush().await.unwrap();
    assert_eq!(place.names().await.len(), 1);
}

/// An end while the lake fails and most of a backlog was not even read: what was read is told in spans,
/// the rest in requests, and together they are all.
#[tokio::test(flavor = "multi_thread")]
async fn an_end_in_the_middle_of_a_backlog_says_what_is_left() {
    let place = Place::new().await;
    let ingest = place.start().await;
    for n in 0..20 {
        let name = format!("{n}{}", "q".repeat(10_000));
        assert_eq!(post(&ingest, body(&[name.as_str()])).await.status, 200);
    }
    drop(ingest);
    let mut config = place.config();
    config.flush.file_bytes = 50_000;
    let log = place.directory.path().join("lake/spans/_delta_log");
    let aside = place.directory.path().join("aside");
    let ingest = place.start_with(config).await;
    // The lake is lost at some moment of the reading.
    fs::rename(&log, &aside).unwrap();
    assert_eq!(post(&ingest, body(&["new"])).await.status, 200);
    let stored = ingest.counts().stored;
    let shutdown = ingest.shutdown(Duration::from_millis(400)).await;
    let stored = stored + shutdown.flushed;
    assert_eq!(stored + shutdown.left_in_journal + shutdown.unread, 21, "{shutdown:?}");
    fs::rename(&aside, &log).unwrap();
    let ingest = place.start().await;
    ingest.flush().await.unwrap();
    assert_eq!(place.names().await.len(), 21);
}

/// More in the journal than fits in memory at once is stored in several files of one start, and at no
/// moment are more spans in memory than one file holds.
#[tokio::test(flavor = "multi_thread")]
async fn a_large_backlog_is_stored_bit_by_bit() {
    let place = Place::new().await;
    let ingest = place.start().await;
    for n in 0..50 {
        let name = format!("{n}{}", "q".repeat(50_000));
        assert_eq!(post(&ingest, body(&[name.as_str()])).await.status, 200);
    }
    let whole = ingest.backlog_bytes();
    drop(ingest);
    let mut config = place.config();
    config.flush.file_bytes = whole / 10;
    let ingest = place.start_with(config).await;
    let flush = ingest.flush();
    tokio::pin!(flush);
    let mut most = 0;
    loop {
        let counts = ingest.counts();
        assert!(settled(counts));
        most = most.max(ingest.backlog_bytes());
        if let Ok(flushed) = tokio::time::timeout(Duration::from_micros(200), &mut flush).await {
            break flushed.unwrap();
        }
    }
    // A file's worth, and the record that makes it one.
    assert!(most < whole / 5, "{most} of {whole}");
    assert_eq!(place.names().await.len(), 50);
    assert_eq!(ingest.counts().stored, 50);
}

/// A lake that fails costs time, not spans: they wait in the journal, the sums hold, and the first
/// flush that succeeds stores each once.
#[tokio::test(flavor = "multi_thread")]
async fn a_failing_lake_is_waited_for() {
    let place = Place::new().await;
    let ingest = place.start().await;
    let log = place.directory.path().join("lake/spans/_delta_log");
    let aside = place.directory.path().join("aside");
    let mixed = request(vec![span("good"), timeless("odd")]).encode_to_vec();
    fs::rename(&log, &aside).unwrap();
    assert_eq!(post(&ingest, mixed).await.status, 200);
    assert!(ingest.flush().await.is_err());
    assert!(settled(ingest.counts()) && ingest.ready());
    assert_eq!((ingest.counts().in_flight, ingest.counts().failed_flushes), (1, 1));
    assert_eq!(post(&ingest, body(&["later"])).await.status, 200);
    assert!(ingest.flush().await.is_err());
    fs::rename(&aside, &log).unwrap();
    ingest.flush().await.unwrap();
    assert!(settled(ingest.counts()));
    let counts = ingest.counts();
    assert_eq!((counts.received, counts.stored, counts.quarantined, counts.in_flight), (3, 2, 1, 0));
    let names: Vec<_> = place.names().await.into_iter().collect();
    assert_eq!(names, [("good", 1), ("later", 1)].map(|(name, n)| (name.to_owned(), n)));
    assert_eq!(strings(&place.rows("quarantine").await, "reason"), ["time_out_of_range"]);
}

/// A record that no decoder can read any more is kept whole as a dead letter, with where it came from; the
/// records around it are stored, and the letter is written once however often it is read back.
#[tokio::test(flavor = "multi_thread")]
async fn an_undecodable_record_becomes_a_dead_letter() {
    let place = Place::new().await;
    let opened = Journal::open(place.config().journal).unwrap();
    let node = opened.node().to_owned();
    let journal = opened.start(0).unwrap();
    let bodies = [body(&["before"]), b"junk".to_vec(), body(&["after"])];
    let (durable, taken) = std::sync::mpsc::channel();
    for body in bodies {
        let durable = durable.clone();
        let entry = Entry {
            received_unix_micros: 1_700_000_000_000_000,
            signal: Kept::Traces,
            encoding: Encoding::Protobuf,
            coding: Coding::Identity,
            body: body.into(),
        };
        journal.append(entry, move |seq| durable.send(seq.unwrap()).unwrap());
    }
    drop(durable);
    let seqs: Vec<u64> = taken.iter().collect();
    drop(journal);
    for _ in 0..2 {
        // The first start is killed before it has stored anything.
        let ingest = place.start().await;
        while ingest.counts().in_flight < 2 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let counts = ingest.counts();
        assert_eq!((counts.received, counts.dead_letters, counts.damaged), (2, 1, 0));
        drop(ingest);
    }
    let ingest = place.start().await;
    ingest.flush().await.unwrap();
    assert!(settled(ingest.counts()));
    assert_eq!(place.names().await.into_keys().collect::<Vec<_>>(), ["after", "before"]);
    let dead = fs::read_dir(place.journal().join("dead")).unwrap();
    let dead: Vec<_> = dead.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(dead, [place.journal().join(format!("dead/journal-{node}-{}.json", seqs[1]))]);
    let letter: serde_json::Value = serde_json::from_slice(&fs::read(&dead[0]).unwrap()).unwrap();
    assert_eq!((&letter["body"], &letter["signal"]), (&"anVuaw==".into(), &"traces".into()));
    drop(ingest);
    let ingest = place.start().await;
    ingest.flush().await.unwrap();
    assert_eq!(ingest.counts().dead_letters, 0, "it is released with what came after it");
}

/// What the lake does not hold yet is counted beside the process that has the journal, and nothing changes.
#[tokio::test(flavor = "multi_thread")]
async fn unflushed_records_are_counted_from_outside() {
    let place = Place::new().await;
    assert_eq!(unflushed(&place.journal(), &place.lake).await.unwrap(), 0);
    assert!(!place.journal().exists());
    let ingest = place.start().await;
    assert_eq!(post(&ingest, body(&["stored"])).await.status, 200);
    ingest.flush().await.unwrap();
    assert_eq!(unflushed(&place.journal(), &place.lake).await.unwrap(), 0);
    for name in ["one", "two"] {
        assert_eq!(post(&ingest, body(&[name])).await.status, 200);
    }
    assert_eq!(unflushed(&place.journal(), &place.lake).await.unwrap(), 2);
    drop(ingest);
    assert_eq!(unflushed(&place.journal(), &place.lake).await.unwrap(), 2);
    let ingest = place.start().await;
    ingest.flush().await.unwrap();
    assert_eq!(unflushed(&place.journal(), &place.lake).await.unwrap(), 0);
}

/// A copied journal directory carries its node id along: a process that is given it is told so before it
/// takes anything. Its owner can say that the original is gone.
#[tokio::test(flavor = "multi_thread")]
async fn a_copied_journal_is_refused() {
    let place = Place::new().await;
    let first = place.start().await;
    assert_eq!(post(&first, body(&["left"])).await.status, 200);
    drop(first);
    let copied = copy(&place.journal(), &place.directory.path().join("copied"));
    let start = async || {
        let mut config = place.config();
        config.journal.directory = copied.clone();
        Ingest::start(config, place.lake.clone(), Arc::clone(&place.decoder)).await
    };
    let refused = start().await;
    assert!(matches!(refused, Err(IngestError::Journal(JournalError::Copied(_)))), "{refused:?}");
    fs::remove_dir_all(place.journal()).unwrap();
    fs::write(copied.join("adopt"), "").unwrap();
    let moved = start().await.unwrap();
    moved.flush().await.unwrap();
    assert_eq!(place.names().await.into_keys().collect::<Vec<_>>(), ["left"]);
    drop(moved);
    assert!(start().await.is_ok(), "it is asked for once");
}

/// Two processes under one id, as a copied volume makes them: the second is stopped by the lake before it
/// can hide the first one's spans, and no restart skips its own as stored. Its owner has them stored under
/// another id, once.
#[tokio::test(flavor = "multi_thread")]
async fn a_shared_name_is_given_up() {
    let place = Place::new().await;
    drop(place.start().await);
    let clone = copy(&place.journal(), &place.directory.path().join("clone"));
    fs::write(clone.join("adopt"), "").unwrap();
    let start = async || {
        let mut config = place.config();
        config.journal.directory = clone.clone();
        Ingest::start(config, place.lake.clone(), Arc::clone(&place.decoder)).await
    };
    let first = place.start().await;
    let second = start().await.unwrap();
    assert_eq!(post(&first, body(&["first"])).await.status, 200);
    first.flush().await.unwrap();
    assert_eq!(post(&second, body(&["second"])).await.status, 200);
    assert!(second.flush().await.is_err());
    assert_eq!(second.counts().in_flight, 1);
    while second.ready() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(!second.alive());
    assert_eq!(second.shutdown(Duration::from_secs(5)).await.left_in_journal, 1);
    assert_eq!(post(&first, body(&["more"])).await.status, 200);
    first.flush().await.unwrap();

    let refused = start().await;
    assert!(matches!(refused, Err(IngestError::Journal(JournalError::Shared(_)))), "{refused:?}");
    fs::write(clone.join("adopt"), "").unwrap();
    let second = start().await.unwrap();
    assert_eq!(post(&second, body(&["third"])).await.status, 200);
    second.flush().await.unwrap();
    drop(second);
    start().await.unwrap().flush().await.unwrap();
    let names: Vec<_> = place.names().await.into_iter().collect();
    assert_eq!(names, ["first", "more", "second", "third"].map(|name| (name.to_owned(), 1)));
}

/// Without TLS and tokens nobody but this machine is let in, unless that is asked for.
#[tokio::test(flavor = "multi_thread")]
async fn other_addresses_are_refused_unless_allowed() {
    let place = Place::new().await;
    let start = async |allow_remote| {
        let mut config = place.config();
        config.http = Some(SocketAddr::from(([0, 0, 0, 0], 0)));
        config.allow_remote = allow_remote;
        Ingest::start(config, place.lake.clone(), Arc::clone(&place.decoder)).await
    };
    assert!(matches!(start(false).await, Err(IngestError::NotLoopback(_))));
    assert!(start(true).await.is_ok());
}

/// Copies the files of a directory.
fn copy(from: &Path, to: &Path) -> std::path::PathBuf {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
    to.to_owned()
}
