//! The journal alone: what was acknowledged is read back, whatever was cut, flipped or killed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use bytes::Bytes;
use plimsoll_ingest::journal::{AppendError, Entry, Journal, JournalError, JournalOptions, Replayed};
use plimsoll_ingest::{Coding, Kept};
use plimsoll_otlp::Encoding;
use proptest::prelude::*;

fn options(directory: &Path) -> JournalOptions {
    JournalOptions { segment_bytes: 4096, linger: Duration::ZERO, ..JournalOptions::new(directory) }
}

fn entry(body: impl Into<Bytes>) -> Entry {
    Entry {
        received_unix_micros: 1_700_000_000_000_000,
        signal: Kept::Logs,
        encoding: Encoding::Json,
        coding: Coding::Gzip,
        body: body.into(),
    }
}

fn append(journal: &Journal, body: impl Into<Bytes>) -> Result<u64, AppendError> {
    let (told, result) = mpsc::channel();
    journal.append(entry(body), move |kept| told.send(kept).unwrap());
    result.recv().unwrap()
}

fn reopen(directory: &Path) -> Journal {
    Journal::open(options(directory)).unwrap().start(0).unwrap()
}

/// What a replay gives: records by seq and body, and how many stretches are damaged.
fn read(journal: &Journal, after: u64) -> (Vec<(u64, Bytes)>, usize) {
    let (mut records, mut damaged) = (Vec::new(), 0);
    for item in journal.replay(after) {
        match item.unwrap() {
            Replayed::Record(record) => {
                assert_eq!(record.entry, entry(record.entry.body.clone()));
                records.push((record.seq, record.entry.body));
            }
            Replayed::Damaged(damage) => {
                damaged += 1;
                journal.set_aside(&damage.segment);
            }
        }
    }
    (records, damaged)
}

fn segments(directory: &Path, ending: &str) -> Vec<std::path::PathBuf> {
    let paths = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|found| found == ending)).collect();
    paths.sort();
    paths
}

/// A kill at any moment of a write: the file is cut at every byte, and exactly the records that are
/// whole up to there come back; the log can be written again.
#[test]
fn a_tail_cut_at_any_byte_loses_only_the_torn_record() {
    let directory = tempfile::tempdir().unwrap();
    let journal = reopen(directory.path());
    let bodies: Vec<Vec<u8>> = (0..6_u8).map(|n| vec![n; 5 + usize::from(n) * 7]).collect();
    let mut ends = vec![32];
    for body in &bodies {
        append(&journal, body.clone()).unwrap();
        ends.push(ends[ends.len() - 1] + 32 + body.len());
    }
    let node = journal.node().to_owned();
    journal.abandon();
    let segment = segments(directory.path(), "segment").remove(0);
    let whole = fs::read(&segment).unwrap();
    for cut in 0..=ends[6] {
        fs::write(&segment, &whole[..cut]).unwrap();
        let journal = reopen(directory.path());
        let (records, damaged) = read(&journal, 0);
        let kept = ends.iter().skip(1).filter(|end| **end <= cut).count();
        let expected: Vec<_> = bodies[..kept]
            .iter()
            .enumerate()
            .map(|(n, body)| (n as u64 + 1, Bytes::from(body.clone())))
            .collect();
        assert_eq!((records, damaged), (expected, 0), "cut at {cut}");
        assert_eq!(journal.node(), node);
        assert_eq!(append(&journal, "more").unwrap(), kept as u64 + 1);
        journal.abandon();
        for left in segments(directory.path(), "segment") {
            fs::remove_file(left).unwrap();
        }
    }
}

/// Rot in the middle costs the records it touches; those around it come back, and the damaged file is
/// kept for its owner when the rest of it is released.
#[test]
fn a_flipped_byte_costs_one_record() {
    let directory = tempfile::tempdir().unwrap();
    let journal = reopen(directory.path());
    for n in 0..5_u8 {
        append(&journal, vec![n; 100]).unwrap();
    }
    // A second segment, so that the first is in the middle of the log.
    append(&journal, vec![9; 4096]).unwrap();
    journal.abandon();
    let segment = segments(directory.path(), "segment").remove(0);
    let whole = fs::read(&segment).unwrap();
    for at in (0..32 + 5 * 132).step_by(3) {
        let mut rotten = whole.clone();
        rotten[at] ^= 0x40;
        fs::write(&segment, rotten).unwrap();
        let journal = reopen(directory.path());
        let (records, damaged) = read(&journal, 0);
        let seqs: Vec<_> = records.iter().map(|(seq, _)| *seq).collect();
        let hit = (at >= 32).then(|| (at as u64 - 32) / 132 + 1);
        let expected: Vec<_> = (1..=6).filter(|seq| Some(*seq) != hit).collect();
        assert_eq!((seqs, damaged), (expected, 1), "flipped at {at}");
        journal.abandon();
    }
    let journal = reopen(directory.path());
    read(&journal, 0);
    journal.release(6);
    journal.close();
    assert_eq!(segments(directory.path(), "segment"), [] as [std::path::PathBuf; 0]);
    assert_eq!(segments(directory.path(), "damaged").len(), 1);
}

/// A body that looks like a record of this very journal is not taken for one when the record that
/// holds it is damaged.
#[test]
fn a_body_that_looks_like_a_record_is_not_one() {
    let directory = tempfile::tempdir().unwrap();
    let journal = reopen(directory.path());
    append(&journal, "first").unwrap();
    journal.abandon();
    let segment = segments(directory.path(), "segment").remove(0);
    let forged = fs::read(&segment).unwrap()[32..32 + 32 + 5].to_vec();
    let journal = reopen(directory.path());
    append(&journal, forged).unwrap();
    append(&journal, "third").unwrap();
    append(&journal, vec![1; 8192]).unwrap();
    journal.abandon();
    let segment = segments(directory.path(), "segment").remove(1);
    let mut bytes = fs::read(&segment).unwrap();
    bytes[40] ^= 1;
    fs::write(&segment, bytes).unwrap();
    let journal = reopen(directory.path());
    let (records, damaged) = read(&journal, 0);
    assert_eq!(records.iter().map(|(seq, _)| *seq).collect::<Vec<_>>(), [1, 3, 4]);
    assert_eq!(damaged, 1);
}

/// Bodies are other people's prompts: nobody but the owner may read them.
#[test]
fn only_the_owner_can_read_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("journal");
    let journal = reopen(&path);
    append(&journal, "secret").unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o700);
    for entry in fs::read_dir(&path).unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), 0o600);
    }
}

/// A segment that was set aside is kept for its owner as long as was said, and no longer: it holds other
/// people's prompts.
#[test]
fn damaged_segments_expire() {
    let directory = tempfile::tempdir().unwrap();
    reopen(directory.path()).close();
    let aside = directory.path().join("00000000000000000001.damaged");
    fs::write(&aside, "rot").unwrap();
    reopen(directory.path()).close();
    assert!(aside.exists());
    let options = JournalOptions { damaged_age: Duration::ZERO, ..options(directory.path()) };
    Journal::open(options).unwrap().start(0).unwrap().close();
    assert!(!aside.exists());
}

/// How much waits and since when is seen from outside: of records of this process and of a former one.
#[test]
fn what_waits_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let journal = reopen(directory.path());
    assert_eq!((journal.segments(), journal.oldest_unix_micros()), (0, None));
    append(&journal, "one").unwrap();
    append(&journal, vec![0; 4096]).unwrap();
    let received = Some(entry("").received_unix_micros);
    assert_eq!((journal.segments(), journal.oldest_unix_micros()), (2, received));
    journal.abandon();
    let journal = reopen(directory.path());
    assert_eq!((journal.segments(), journal.oldest_unix_micros(), journal.unread()), (2, received, 2));
    read(&journal, 1);
    assert_eq!(journal.unread(), 0);
    journal.release(2);
    while journal.segments() > 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(journal.oldest_unix_micros(), None);
}

/// A directory of the version that knew no inodes is taken, and known from then on.
#[test]
fn an_older_node_file_is_taken() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("node"), "0123abcd").unwrap();
    assert_eq!(reopen(directory.path()).node(), "0123abcd");
    fs::copy(directory.path().join("node"), directory.path().join("copy")).unwrap();
    fs::rename(directory.path().join("copy"), directory.path().join("node")).unwrap();
    let refused = Journal::open(options(directory.path()));
    assert!(matches!(refused, Err(JournalError::Copied(_))), "{refused:?}");
}

/// Two processes on one journal would write over each other.
#[test]
fn a_directory_in_use_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let journal = reopen(directory.path());
    assert!(matches!(Journal::open(options(directory.path())), Err(JournalError::InUse(_))));
    journal.close();
    assert!(Journal::open(options(directory.path())).is_ok());
}

/// A log of a later layout is left alone, not cut.
#[test]
fn a_newer_version_is_refused_and_untouched() {
    let directory = tempfile::tempdir().unwrap();
    let journal = reopen(directory.path());
    append(&journal, "kept").unwrap();
    journal.abandon();
    let segment = segments(directory.path(), "segment").remove(0);
    let mut bytes = fs::read(&segment).unwrap();
    bytes[8] = 2;
    let crc = crc32fast::hash(&bytes[..28]);
    bytes[28..32].copy_from_slice(&crc.to_le_bytes());
    fs::write(&segment, &bytes).unwrap();
    assert!(matches!(Journal::open(options(directory.path())), Err(JournalError::Newer { version: 2, .. })));
    assert_eq!(fs::read(&segment).unwrap(), bytes);
}

/// A seq that the lake has seen is never given to another record, though the files are gone.
#[test]
fn seqs_go_on_above_what_the_lake_holds() {
    let directory = tempfile::tempdir().unwrap();
    let journal = Journal::open(options(directory.path())).unwrap().start(41).unwrap();
    assert_eq!(append(&journal, "next").unwrap(), 42);
}

/// The size cap refuses before anything is written, and releasing makes room.
#[test]
fn the_cap_refuses_and_a_release_makes_room() {
    let directory = tempfile::tempdir().unwrap();
    let options = JournalOptions {
        max_bytes: 3000,
        segment_age: Duration::from_millis(1),
        ..options(directory.path())
    };
    let journal = Journal::open(options).unwrap().start(0).unwrap();
    let mut last = 0;
    let full =
        (0..10).map(|_| append(&journal, vec![0; 1000])).find_map(|kept| kept.map(|seq| last = seq).err());
    assert_eq!((full, last), (Some(AppendError::Full(3000)), 3));
    journal.release(last);
    while journal.is_full() {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(append(&journal, "room").unwrap(), 4);
}

/// An operation on the journal.
#[derive(Debug, Clone)]
enum Op {
    Append(usize),
    Release(u64),
    Kill,
    Close,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (0..3000_usize).prop_map(Op::Append),
        2 => (0..20_u64).prop_map(Op::Release),
        1 => Just(Op::Kill),
        1 => Just(Op::Close),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Whatever is appended, released, killed and closed: what was acknowledged and not released is
    /// there, once, in order.
    #[test]
    fn what_is_not_released_is_there(ops in prop::collection::vec(op(), 1..30)) {
        let directory = tempfile::tempdir().unwrap();
        let mut journal = reopen(directory.path());
        let (mut acknowledged, mut released) = (Vec::new(), 0);
        for op in ops {
            match op {
                Op::Append(size) => {
                    let body = Bytes::from(vec![size as u8; size]);
                    let seq = append(&journal, body.clone()).unwrap();
                    prop_assert_eq!(seq, acknowledged.len() as u64 + 1);
                    acknowledged.push((seq, body));
                }
                Op::Release(back) => {
                    released = (acknowledged.len() as u64).saturating_sub(back).max(released);
                    journal.release(released);
                }
                Op::Kill | Op::Close => {
                    if matches!(op, Op::Kill) { journal.abandon() } else { journal.close() }
                    // The lake's txn is what tells a journal whose files are all released where it was.
                    journal = Journal::open(options(directory.path())).unwrap().start(released).unwrap();
                }
            }
        }
        journal.abandon();
        let journal = Journal::open(options(directory.path())).unwrap().start(released).unwrap();
        let (records, damaged) = read(&journal, released);
        let expected: Vec<_> = acknowledged.into_iter().filter(|(seq, _)| *seq > released).collect();
        prop_assert_eq!(records, expected);
        prop_assert_eq!(damaged, 0);
    }
}
