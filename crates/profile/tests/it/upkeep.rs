//! Upkeep beside rounds and readers: files are merged, expire and go, and no answer changes.

use std::time::{Duration, Instant};

use futures::{StreamExt, TryStreamExt};
use jiff::{Timestamp, civil::date};
use object_store::ObjectStore;
use plimsoll_lake::Compaction;
use plimsoll_profile::{
    Limits, ProfileError, Reader, Remake, Upkeep, UpkeepReport, plan_upkeep, run_round, upkeep,
};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::support::{Outcome, RECEIVED, World, eventful_run, everything, simple_run};

const DAY: i64 = 86_400_000_000;

/// Merges whatever can be, and keeps past versions for so long.
fn eager(keep_versions: Duration) -> Upkeep {
    let compaction = Compaction { min_files: 2, ..Compaction::default() };
    Upkeep { compaction, keep_versions, ..Upkeep::default() }
}

/// So many days after the first receipt.
fn days_later(days: i64) -> Outcome<Timestamp> {
    Ok(Timestamp::from_microsecond(RECEIVED + days * DAY)?)
}

async fn beat(world: &World, options: &Upkeep, days: i64) -> Outcome<UpkeepReport> {
    let report = upkeep(&world.lake, &world.factory, options, days_later(days)?, &|_| ()).await?;
    for (table, done) in &report.tables {
        if let Some(failure) = done.failure.as_ref().filter(|failure| !failure.is_conflict()) {
            return Err(format!("{table}: {failure}").into());
        }
    }
    Ok(report)
}

async fn objects(world: &World) -> usize {
    world.lake.store().list(None).count().await
}

fn removed(report: &UpkeepReport) -> usize {
    report.tables.values().map(|done| done.vacuumed.files).sum()
}

/// A beat merges files and removes what was replaced, changes no answer and gives the jobs nothing to do;
/// planning it tells as much and changes nothing.
#[tokio::test]
async fn answers_stay() -> Outcome {
    let world = World::new().await?;
    for (trace, minute) in (1..=6).zip(0..) {
        world.receive(&eventful_run(trace, "close", minute * 60_000, 100), RECEIVED).await?;
        world.round().await?;
    }
    let before = everything(&world).await?;
    let options = eager(Duration::ZERO);
    sleep(Duration::from_millis(5)).await;
    let there = objects(&world).await;
    let planned = plan_upkeep(&world.lake, &world.factory, &options, days_later(0)?).await?;
    assert_eq!(planned.tables["spans"].compacted.from, 6);
    assert!(planned.tables["draw"].vacuumed.files > 0);
    assert_eq!(objects(&world).await, there);
    let done = beat(&world, &options, 0).await?;
    assert_eq!((done.tables["spans"].compacted.from, done.tables["spans"].compacted.into), (6, 1));
    assert!(done.tables["draw"].vacuumed.files >= planned.tables["draw"].vacuumed.files);
    assert_eq!(everything(&world).await?, before);
    assert!(!world.round().await?.changed, "what is merged is not new");
    assert_eq!(everything(&world).await?, before);
    world.rebuild().await?;
    assert_eq!(everything(&world).await?, before);
    Ok(())
}

/// Days expire once jobs have read them and not before, each table by its own age; a table that there
/// cannot be is told.
#[tokio::test]
async fn expiry() -> Outcome {
    let world = World::new().await?;
    world.receive(&simple_run(1, "close", 0, 100), RECEIVED).await?;
    let day = Duration::from_secs(24 * 60 * 60);
    let mut options = eager(day);
    options.retention = [("spans".to_owned(), day), ("attempts".to_owned(), 3 * day)].into();
    let done = beat(&world, &options, 5).await?;
    assert_eq!(
        (done.tables["spans"].retained.rows, done.tables["spans"].held_back),
        (0, Some(date(2026, 9, 1)))
    );
    world.round().await?;
    let planned = plan_upkeep(&world.lake, &world.factory, &options, days_later(5)?).await?;
    for report in [planned, beat(&world, &options, 5).await?] {
        let expired = |table: &str| report.tables[table].retained.rows;
        assert_eq!((expired("spans"), expired("attempts"), expired("runs")), (2, 1, 0));
        assert_eq!(report.tables["spans"].held_back, None);
    }
    assert!(world.round().await?.changed);
    assert_eq!(world.value("SELECT count(*) FROM attempts").await?, json!(0));
    assert_eq!(world.value("SELECT count(*) FROM runs").await?, json!(1));
    options.retention.insert("nothing".to_owned(), day);
    let refused = upkeep(&world.lake, &world.factory, &options, days_later(5)?, &|_| ()).await;
    assert!(refused.is_err_and(|why| why.to_string().contains("nothing")));
    Ok(())
}

/// A query that is half read goes on to its end, and others with it, while a round takes its version's
/// place and upkeep merges what it reads and removes what was replaced before it began.
#[tokio::test]
async fn half_read() -> Outcome {
    let world = World::within(Limits { memory_bytes: 1 << 30, threads: 1 }).await?;
    for trace in 1..=12 {
        world.receive(&simple_run(trace, "close", 0, 100), RECEIVED).await?;
        if trace % 6 == 0 {
            world.round().await?;
        }
    }
    let began = Instant::now();
    let reader = Reader::pinned(&world.lake, &world.factory).await?;
    let mut rows = reader.plan("SELECT trace_id, span_id FROM spans").await?.execute_stream().await?;
    let mut read = rows.try_next().await?.map_or(0, |batch| batch.num_rows());
    assert!(read < 24);
    world.receive(&simple_run(13, "close", 0, 100), RECEIVED).await?;
    world.round().await?;
    // As if queries took no longer than this one has until now.
    let done = beat(&world, &eager(began.elapsed() + Duration::from_millis(20)), 2).await?;
    assert_eq!(done.tables["spans"].compacted.from, 13);
    assert!(removed(&done) > 0, "what the first round left has gone");
    while let Some(batch) = rows.try_next().await? {
        read += batch.num_rows();
    }
    assert_eq!(read, 24);
    let drawn =
        "SELECT CAST(sum(amount) AS BIGINT) FROM lake.draw WHERE measure = 'input_tokens' AND window_s = 60";
    let seen = arrow::util::pretty::pretty_format_batches(&reader.query(drawn).await?)?.to_string();
    assert!(seen.contains("1200"), "{seen}");
    assert_eq!(world.value(drawn).await?, json!(1300));
    // Nobody reads it any longer.
    assert!(removed(&beat(&world, &eager(Duration::ZERO), 2).await?) > 0);
    assert_eq!(world.value(drawn).await?, json!(1300));
    Ok(())
}

/// Numbers that a seed gives.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        // Marsaglia's xorshift64.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    fn pause(&mut self, from_ms: u64, to_ms: u64) -> Duration {
        Duration::from_millis(from_ms + self.below(to_ms - from_ms))
    }
}

/// Runs whose spans come in pieces, in any order, over three days.
fn pieces(dice: &mut Dice) -> Vec<(Vec<Value>, i64)> {
    let mut pieces: Vec<(Vec<Value>, i64)> = Vec::new();
    for trace in 1..=10 {
        let start = i64::try_from(dice.below(2 * 86_400_000)).unwrap_or(0);
        let mut spans = eventful_run(trace, "close", start, 100 + i64::try_from(trace).unwrap_or(0));
        while !spans.is_empty() {
            let at = dice.below(spans.len() as u64) as usize;
            let piece = spans.split_off(at);
            let received = RECEIVED + DAY * i64::try_from(dice.below(3)).unwrap_or(0);
            pieces.insert(dice.below(pieces.len() as u64 + 1) as usize, (piece, received));
        }
    }
    pieces
}

/// Spans that come, rounds and upkeep all at once, rounds and upkeep dying wherever they are: readers see
/// whole rounds that never lose anything, and in the end all is as one round makes it of all spans.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn storm() -> Outcome {
    for seed in [1, 77] {
        let mut dice = Dice(seed);
        let pieces = pieces(&mut dice);
        let control = World::new().await?;
        for (spans, received) in &pieces {
            control.receive(spans, *received).await?;
        }
        control.round().await?;
        let world = World::new().await?;
        let deaths = through_the_storm(&world, &pieces, &mut dice).await?;

        // The calm after it: what the last round left unread is read, and all that was left behind goes.
        beat(&world, &eager(Duration::ZERO), 9).await?;
        while world.round().await?.changed {}
        beat(&world, &eager(Duration::ZERO), 9).await?;
        let told = format!("seed {seed}: {} bodies, {deaths:?} of rounds and upkeep died", pieces.len());
        assert_eq!(everything(&world).await?, everything(&control).await?, "{told}");
        let spans = "SELECT trace_id, span_id, received_at FROM spans ORDER BY trace_id, span_id";
        assert_eq!(world.query(spans).await?, control.query(spans).await?, "{told}");
    }
    Ok(())
}

/// Says how many rounds and how many beats of upkeep died.
async fn through_the_storm(
    world: &World,
    pieces: &[(Vec<Value>, i64)],
    dice: &mut Dice,
) -> Outcome<(u32, u32)> {
    let [jobs, keeper, readers] = [(); 3].map(|()| World::over(world.lake.store()));
    let (jobs, keeper, readers) = (jobs?, keeper?, readers?);
    let (mut of_jobs, mut of_keeper) = (Dice(dice.below(1 << 40) + 1), Dice(dice.below(1 << 40) + 1));
    let Some(((spans, received), later)) = pieces.split_first() else { return Ok((0, 0)) };
    world.receive(spans, *received).await?;
    world.round().await?;
    let (over, storm) = tokio::sync::watch::channel(false);
    let appends = async {
        for (spans, received) in later {
            world.receive(spans, *received).await?;
            sleep(dice.pause(0, 200)).await;
        }
        over.send(true)?;
        Outcome::Ok(())
    };
    let rounds = async {
        let mut died = 0;
        while !*storm.borrow() {
            let round = run_round(&jobs.lake, &jobs.factory, Remake::Nothing, &|_| ());
            match timeout(of_jobs.pause(50, 4000), round).await {
                Err(_) => died += 1,
                Ok(Ok(_) | Err(ProfileError::Overtaken)) => sleep(Duration::from_millis(10)).await,
                Ok(Err(error)) => return Err(error.into()),
            }
        }
        Outcome::Ok(died)
    };
    let keeping = async {
        let mut died = 0;
        while !*storm.borrow() {
            match timeout(of_keeper.pause(20, 1500), beat(&keeper, &eager(Duration::from_secs(60)), 2)).await
            {
                Err(_) => died += 1,
                Ok(report) => _ = report?,
            }
            sleep(of_keeper.pause(0, 100)).await;
        }
        Outcome::Ok(died)
    };
    let reading = async {
        let mut last = (0, 0);
        while !*storm.borrow() {
            let seen = readers
                .query(
                    "SELECT (SELECT count(*) FROM spans) AS spans,
                       (SELECT count(DISTINCT trace_id) FROM spans) AS traces,
                       (SELECT count(*) FROM runs) AS runs,
                       (SELECT count(*) FROM attempts WHERE run_id NOT IN (SELECT run_id FROM runs)) AS strays",
                )
                .await?;
            let number = |name: &str| seen.first().and_then(|row| row[name].as_i64()).unwrap_or(-1);
            let now = (number("spans"), number("runs"));
            assert!(now.0 >= last.0 && now.1 >= last.1, "{now:?} after {last:?}");
            assert_eq!((number("runs"), number("strays")), (number("traces"), 0));
            last = now;
            sleep(Duration::from_millis(20)).await;
        }
        Outcome::Ok(())
    };
    let ((), of_rounds, of_upkeep, ()) = tokio::try_join!(appends, rounds, keeping, reading)?;
    Ok((of_rounds, of_upkeep))
}
