//! Several processes at once on a store that misbehaves: rows exact, each transaction once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::{join_all, try_join_all};
use futures::stream::{self, StreamExt, TryStreamExt};
use jiff::civil::{Date, date};
use object_store::memory::InMemory;
use plimsoll_lake::{Appended, Compaction, DataFile, Error, Lake, Snapshot, Table, Vacuum, Verification};
use tokio::sync::Mutex;

use crate::chaos::{Chaos, Odds};
use crate::fixtures::{Dice, Outcome, all, number_schemas, read, written};

const WRITERS: u64 = 3;
const APPENDS: i64 = 3;
const ROWS: i64 = 10;

/// Days that rows are of; retention lets go of the first.
const DAYS: i32 = 3;
const FIRST_KEPT: Date = date(1970, 1, 2);

/// How long a version stays without a pin.
const SOON: Duration = Duration::from_millis(50);

/// Every row of a writer's append.
fn numbers_of(writer: u64, append: i64) -> std::ops::Range<i64> {
    let first = (writer.cast_signed() * APPENDS + append) * ROWS;
    first..first + ROWS
}

fn day_of(writer: u64, append: i64) -> i32 {
    i32::try_from((writer.cast_signed() + append) % i64::from(DAYS)).unwrap_or_default()
}

/// What the processes of one run share.
struct Run {
    seed: u64,
    bucket: Arc<InMemory>,
    /// Versions that readers hold on to.
    pins: Mutex<BTreeMap<i64, usize>>,
    writing: AtomicUsize,
}

impl Run {
    fn process(&self, number: u64) -> Chaos {
        let odds = Odds { refused: 2, timeout: 2, repeated: 4, slow: 30 };
        Chaos::new(&self.bucket, odds, self.seed.wrapping_mul(1000).wrapping_add(number))
    }

    /// A writer that dies now and then and goes on, as `serve` does, from what the table says.
    async fn write(&self, writer: u64) -> Outcome {
        let app = format!("otlp/{writer}");
        let mut dice = Dice(self.seed ^ (writer << 32));
        let mut life = 0;
        'lives: loop {
            life += 1;
            let process = self.process(100 * (writer + 1) + life);
            // One of them dies, once.
            if life == 1 && writer == self.seed % WRITERS {
                process.dies_after(i64::try_from(dice.below(60))?);
            }
            let Ok(table) = again(&process, || process.table()).await else { continue };
            let held = again(&process, || async { Ok(table.snapshot().await?.txn(&app)) }).await;
            let Ok(held) = held else { continue };
            for append in held.map_or(0, |last| last + 1)..APPENDS {
                let (day, rows) = (day_of(writer, append), numbers_of(writer, append));
                let files = again(&process, || written(&table, day, rows.clone())).await;
                let Ok(files) = files else { continue 'lives };
                // The same files each time, as long as the process lives.
                let txn = [(app.clone(), append)];
                let taken = again(&process, || async {
                    let taken = table.append(files.clone(), &txn).await?;
                    assert!(matches!(taken, Appended::Committed { .. } | Appended::AlreadyThere));
                    Ok(())
                });
                if taken.await.is_err() {
                    continue 'lives;
                }
            }
            self.writing.fetch_sub(1, Ordering::SeqCst);
            return Ok(());
        }
    }

    /// Compaction, retention and vacuum for as long as there is a writer, each of them cut off anywhere.
    async fn keep_up(&self, keeper: u64) -> Outcome {
        let mut dice = Dice(self.seed ^ 0xbeef ^ keeper);
        let mut life = 0;
        while self.writing.load(Ordering::SeqCst) > 0 {
            life += 1;
            let process = self.process(10_000 * (keeper + 1) + life);
            process.dies_after(i64::try_from(40 + dice.below(200))?);
            let Ok(table) = process.table().await else { continue };
            while !process.is_dead() && self.writing.load(Ordering::SeqCst) > 0 {
                let outcome = match dice.below(4) {
                    0 => table.retain(FIRST_KEPT).await.map(drop),
                    1 => self.vacuum(&table, Duration::from_secs(3600)).await.map(drop),
                    2 => table.checkpoint().await,
                    _ => table.compact(&compaction()).await.map(drop),
                };
                // What fails is done by the next; what damages shows in the rows.
                if let Err(Error::Damaged { path, reason }) = outcome {
                    return Err(format!("{path}: {reason}").into());
                }
                tokio::time::sleep(Duration::from_millis(dice.below(60))).await;
            }
        }
        Ok(())
    }

    /// Removes all that nobody is said to need.
    async fn vacuum(&self, table: &Table, uncommitted: Duration) -> Result<(), Error> {
        let pinned = self.pins.lock().await.keys().copied().collect();
        let vacuum = Vacuum { retention: SOON, uncommitted, pinned, dry_run: false };
        table.vacuum(&vacuum).await.map(drop)
    }

    /// A reader that holds on to a version and reads it time and again: always the same rows, each once.
    async fn read(&self, reader: u64) -> Outcome {
        let process = Chaos::new(&self.bucket, Odds { slow: 50, ..Odds::default() }, self.seed ^ reader);
        let table = process.table().await?;
        while self.writing.load(Ordering::SeqCst) > 0 {
            let pinned = {
                let mut pins = self.pins.lock().await;
                let snapshot = table.snapshot().await?;
                *pins.entry(snapshot.version()).or_default() += 1;
                snapshot
            };
            let first = self.whole(&table, &pinned).await?;
            tokio::time::sleep(Duration::from_millis(40)).await;
            assert_eq!(self.whole(&table, &pinned).await?, first);
            // Another process, which replays the log, finds the same.
            let afresh = Chaos::new(&self.bucket, Odds::default(), self.seed).lake()?;
            let afresh = afresh.existing("numbers").await?.ok_or("the table is gone")?;
            assert_eq!(afresh.snapshot_at(pinned.version()).await?.files(), pinned.files());
            let mut pins = self.pins.lock().await;
            if let Some(held) = pins.get_mut(&pinned.version()) {
                *held -= 1;
                if *held == 0 {
                    pins.remove(&pinned.version());
                }
            }
        }
        Ok(())
    }

    /// The rows of a version: of each writer those up to the transaction that it has taken, but for days
    /// that retention has let go of.
    async fn whole(&self, table: &Table, snapshot: &Snapshot) -> Outcome<Vec<i64>> {
        let found = read(table, snapshot.files()).await?;
        let mut expected = Vec::new();
        for writer in 0..WRITERS {
            let held = snapshot.txn(&format!("otlp/{writer}")).unwrap_or(-1);
            for append in (0..=held).filter(|append| day_of(writer, *append) > 0) {
                expected.extend(numbers_of(writer, append));
            }
        }
        expected.sort_unstable();
        let kept: Vec<i64> = found
            .iter()
            .copied()
            .filter(|n| {
                let append = n / ROWS;
                day_of(u64::try_from(append / APPENDS).unwrap_or_default(), append % APPENDS) > 0
            })
            .collect();
        assert_eq!(kept, expected, "seed {}, version {}", self.seed, snapshot.version());
        assert!(found.windows(2).all(|pair| pair[0] < pair[1]), "seed {}: a row twice", self.seed);
        Ok(found)
    }
}

/// Repeats until it succeeds or the process is dead.
async fn again<T, F: Future<Output = Outcome<T>>>(process: &Chaos, work: impl Fn() -> F) -> Outcome<T> {
    loop {
        match work().await {
            Ok(done) => return Ok(done),
            Err(error) if process.is_dead() => return Err(error),
            Err(_) => tokio::task::yield_now().await,
        }
    }
}

fn compaction() -> Compaction {
    Compaction { min_files: 2, closed_before: Some(date(1970, 1, 3)), ..Compaction::default() }
}

async fn storm(seed: u64) -> Outcome {
    let bucket = Arc::new(InMemory::new());
    let writing = AtomicUsize::new(usize::try_from(WRITERS)?);
    let run = Run { seed, bucket, pins: Mutex::default(), writing };
    let writers = try_join_all((0..WRITERS).map(|writer| run.write(writer)));
    let keepers = try_join_all((0..1 + seed % 5 / 4).map(|keeper| run.keep_up(keeper)));
    let readers = try_join_all((0..1).map(|reader| run.read(reader)));
    let (wrote, kept, has_read) = tokio::join!(writers, keepers, readers);
    wrote?;
    kept?;
    has_read?;

    let quiet = Chaos::new(&run.bucket, Odds::default(), seed);
    let table = quiet.table().await?;
    table.retain(FIRST_KEPT).await?;
    table.compact(&compaction()).await?;
    let now = table.snapshot().await?;
    let whole = run.whole(&table, &now).await?;
    assert_eq!(now.rows(), whole.len() as u64);
    for writer in 0..WRITERS {
        assert_eq!(now.txn(&format!("otlp/{writer}")), Some(APPENDS - 1), "seed {seed}");
    }
    // What deaths left behind goes, and nothing else is found to be wrong then.
    tokio::time::sleep(2 * SOON).await;
    run.vacuum(&table, SOON).await?;
    let findings =
        quiet.lake()?.verify(&Verification { deep: true, ..Verification::default() }, &|_| {}).await?;
    assert_eq!(findings, [], "seed {seed}");
    assert_eq!(all(&table).await?, whole);
    Ok(())
}

/// Two hundred runs: three writers, one or two that compact, retain, checkpoint and vacuum, and a reader,
/// on a store that refuses, times out, forgets to answer and is slow, in processes that die. At every moment a
/// reader sees what was acknowledged, once; in the end all is there and nothing is left over.
/// (`PLIMSOLL_STORMS` asks for another number.)
#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_storms() -> Outcome {
    let runs = std::env::var("PLIMSOLL_STORMS").ok().and_then(|n| n.parse().ok()).unwrap_or(200);
    let runs = stream::iter(1..=runs).map(storm);
    runs.buffer_unordered(16).try_collect::<()>().await
}

/// Credentials that expire: one clear message while they have, and then the same commit goes through once.
#[tokio::test]
async fn expired_credentials_recover() -> Outcome {
    let bucket = Arc::new(InMemory::new());
    let process = Chaos::new(&bucket, Odds::default(), 1);
    let table = process.table().await?;
    let files = written(&table, 0, 0..10).await?;
    process.expire(true);
    for told in [
        table.append(files.clone(), &[("otlp/a".to_owned(), 1)]).await.err(),
        table.compact(&compaction()).await.err(),
        table.vacuum(&Vacuum::default()).await.err(),
    ] {
        let error = told.ok_or("it is not allowed")?;
        assert!(error.is_denied(), "{error:?}");
        let text = error.to_string();
        assert!(text.contains("credentials") && !text.contains('\n') && !text.contains("<Code>"), "{text}");
    }
    process.expire(false);
    table.append(files, &[("otlp/a".to_owned(), 1)]).await?;
    assert_eq!(all(&table).await?, (0..10).collect::<Vec<_>>());
    Ok(())
}

/// A commit that adds no file, whose answer is lost: it is found in the log by its own name, not made twice
/// and not taken for another's.
#[tokio::test]
async fn a_commit_without_files_is_made_once() -> Outcome {
    for odds in [Odds { repeated: 100, ..Odds::default() }, Odds { timeout: 30, ..Odds::default() }] {
        let bucket = Arc::new(InMemory::new());
        let quiet = Chaos::new(&bucket, Odds::default(), 1).table().await?;
        quiet.append(written(&quiet, 0, 0..10).await?, &[]).await?;
        quiet.append(written(&quiet, 1, 10..20).await?, &[]).await?;
        let process = Chaos::new(&bucket, odds, 7);
        let table = again(&process, || process.table()).await?;
        again(&process, || async {
            let taken = table.append(Vec::new(), &[("otlp/a".to_owned(), 3)]).await?;
            assert!(matches!(taken, Appended::Committed { .. }));
            Ok(())
        })
        .await
        .ok();
        let retained = again(&process, || async { Ok(table.retain(FIRST_KEPT).await?) }).await?;
        let now = quiet.snapshot().await?;
        assert_eq!((now.version(), now.txn("otlp/a"), now.rows()), (4, Some(3), 10), "{odds:?}");
        assert_eq!(now.retained_from(), Some(1));
        assert!(retained.rows <= 10);
    }
    Ok(())
}

/// Writers that are always late to the next version get their turn, by waiting longer each time.
#[tokio::test(flavor = "multi_thread")]
async fn commits_under_contention_get_through() -> Outcome {
    let bucket = Arc::new(InMemory::new());
    let slow = Odds { slow: 100, ..Odds::default() };
    let outcomes = join_all((0..8).map(|writer| {
        let process = Chaos::new(&bucket, slow, writer);
        async move {
            let table = process.table().await?;
            for append in 0..APPENDS {
                let files: Vec<DataFile> = written(&table, 0, numbers_of(writer, append)).await?;
                table.append(files, &[(format!("otlp/{writer}"), append)]).await?;
            }
            Outcome::Ok(())
        }
    }));
    outcomes.await.into_iter().collect::<Outcome<Vec<()>>>()?;
    let url = "memory:///afresh".parse()?;
    let table = Lake::with_store(url, bucket, number_schemas()?).table("numbers").await?;
    assert_eq!(all(&table).await?, (0..8 * APPENDS * ROWS).collect::<Vec<_>>());
    assert_eq!(table.snapshot().await?.version(), 8 * APPENDS);
    Ok(())
}
