//! Compaction, retention and vacuum: files become few and sorted, and nobody's rows change.

use std::sync::Arc;
use std::time::Duration;

use arrow::array::{ArrayRef, DictionaryArray, RecordBatch, StringArray};
use arrow::datatypes::UInt16Type;
use jiff::civil::date;
use plimsoll_lake::{Compaction, DataFile, Error, Filtered, Lake, Order, Schemas, Snapshot, Table, Vacuum};

use crate::faults::{Fault, Faulty};
use crate::fixtures::{Outcome, all, as_text, number_schemas, numbers, read, rows, written};

/// Appends files as a flush does: as they come, not sorted.
async fn flushed(table: &Table, day: i32, numbers: impl IntoIterator<Item = i64>) -> Outcome<Vec<DataFile>> {
    let files = table.write(&[rows(day, numbers)?], Order::AsIs).await?;
    table.append(files.clone(), &[]).await?;
    Ok(files)
}

fn soon() -> Vacuum {
    Vacuum { retention: Duration::ZERO, uncommitted: Duration::ZERO, ..Vacuum::default() }
}

/// Versions and entries of the log are told apart to the millisecond.
async fn a_moment() {
    tokio::time::sleep(Duration::from_millis(5)).await;
}

fn names(snapshot: &Snapshot) -> Vec<&str> {
    snapshot.files().iter().map(|file| file.path.as_str()).collect()
}

/// T35: four files of 100,000 rows. The compaction dies at each of its writes, a second one runs at the same
/// time, and a reader that looks after each step, as another process and as one that holds on to what it
/// had, sees exactly 400,000 rows. What the dead and the losers leave, a vacuum removes.
#[tokio::test]
async fn readers_see_four_hundred_thousand_at_every_moment() -> Outcome {
    let compaction = Compaction { min_files: 2, ..Compaction::default() };
    let store = Faulty::new(Fault::Refused);
    let table = store.table().await?;
    for n in 0..4 {
        flushed(&table, 0, (n * 100_000..(n + 1) * 100_000).rev()).await?;
    }
    let before = table.snapshot().await?;
    for writes in 0..2 {
        store.fail_after(writes);
        assert!(table.compact(&compaction).await.is_err(), "it needs two writes");
        store.fail_after(i64::MAX);
        assert_eq!(store.table().await?.snapshot().await?.rows(), 400_000);
        assert_eq!(read(&table, before.files()).await?.len(), 400_000);
    }
    let (one, other) = (store.table().await?, store.table().await?);
    let (first, second) = tokio::join!(one.compact(&compaction), other.compact(&compaction));
    assert!(first.is_ok() || second.is_ok(), "{first:?} {second:?}");
    for loser in [first, second].into_iter().filter_map(Result::err) {
        assert!(loser.is_conflict(), "{loser}");
    }
    let after = store.table().await?;
    let whole: Vec<i64> = (0..400_000).collect();
    assert_eq!(all(&after).await?, whole);
    assert_eq!(read(&after, before.files()).await?, whole, "readers of the old version go on");
    a_moment().await;
    let removed = after.vacuum(&soon()).await?;
    assert!(removed.files >= 5, "the four, and one that a death left: {removed:?}");
    assert_eq!(all(&store.table().await?).await?, whole);
    assert_eq!(after.vacuum(&soon()).await?.files, 0, "nothing is left over");
    Ok(())
}

/// T30: two batches of 40,000 session ids, each in a dictionary with short keys that cannot hold both, become one
/// file with all 80,000; a column of 70,000 that come at once is as well.
#[tokio::test]
async fn more_values_than_short_keys_can_tell_apart() -> Outcome {
    let text = r#"
        description = "one row per session"
        sort_by = ["session_id"]
        columns = [{ name = "session_id", type = "string", required = true, doc = "its id" }]"#;
    let schemas = Arc::new(Schemas::load([("sessions.toml".to_owned(), text.to_owned())])?);
    let table = Lake::open("memory://", schemas).await?.table("sessions").await?;
    let ids = |from: u32, to: u32| (from..to).map(|n| format!("session-{n:06}")).collect::<Vec<_>>();
    let short = |ids: &[String]| ids.iter().map(String::as_str).collect::<DictionaryArray<UInt16Type>>();
    let whole = StringArray::from_iter_values(ids(80_000, 150_000));
    let batches: [ArrayRef; 3] =
        [Arc::new(short(&ids(0, 40_000))), Arc::new(short(&ids(40_000, 80_000))), Arc::new(whole)];
    for ids in batches {
        let rows = RecordBatch::try_from_iter([("session_id", ids)])?;
        table.append(table.write(&[rows], Order::AsIs).await?, &[]).await?;
    }
    let done = table.compact(&Compaction { min_files: 2, ..Compaction::default() }).await?;
    assert_eq!((done.from, done.into), (3, 1));
    let now = table.snapshot().await?;
    let found = as_text(&table.read(&now.files()[0]).await?)?;
    assert_eq!(found, ids(0, 150_000));
    Ok(())
}

/// What was flushed is sorted; a day that goes on keeps few files; one that is over becomes one file. The
/// rows of its row groups are in order.
#[tokio::test]
async fn a_closed_day_becomes_one_file() -> Outcome {
    let table = numbers().await?;
    let open = Compaction { closed_before: Some(date(1970, 1, 1)), ..Compaction::default() };
    for n in 0..20 {
        flushed(&table, 0, [100 - n, n]).await?;
    }
    assert_eq!(table.compact(&open).await?.into, 1);
    for n in 20..27 {
        flushed(&table, 0, [100 - n, n]).await?;
    }
    assert_eq!(table.compact(&open).await?.from, 0, "seven are too few");
    let closed = Compaction { closed_before: Some(date(1970, 1, 2)), ..open };
    let planned = table.compaction_plan(&closed).await?;
    assert_eq!(planned.iter().map(|group| group.files).sum::<usize>(), 8);
    table.compact(&closed).await?;
    let now = table.snapshot().await?;
    assert_eq!(now.files().len(), 1, "{:?}", names(&now));
    assert!(now.files()[0].is_sorted());
    let found = table.read(&now.files()[0]).await?;
    let column = found[0].column_by_name("n").ok_or("no n")?;
    let column = arrow::array::AsArray::as_primitive::<arrow::datatypes::Int64Type>(column);
    assert!(column.values().is_sorted());
    assert_eq!(column.len(), 54);
    Ok(())
}

/// Memory is bounded: what does not fit becomes several sorted row groups of one file; sorted files are
/// copied into one.
#[tokio::test]
async fn what_does_not_fit_in_memory_is_sorted_in_parts() -> Outcome {
    let table = numbers().await?;
    let compaction =
        Compaction { memory_bytes: 600_000, closed_before: Some(date(1970, 1, 2)), ..Compaction::default() };
    for half in [0..3, 3..6] {
        for n in half {
            flushed(&table, 0, (n * 40_000..(n + 1) * 40_000).rev()).await?;
        }
        table.compact(&compaction).await?;
    }
    let now = table.snapshot().await?;
    assert_eq!((now.files().len(), now.rows()), (1, 240_000), "{:?}", names(&now));
    assert_eq!(all(&table).await?, (0..240_000).collect::<Vec<_>>());
    let bounds = now.files()[0].stats.column("n").cloned().unwrap_or_default();
    assert_eq!(bounds.min, Some(plimsoll_lake::Value::Int(0)));
    assert_eq!(bounds.max, Some(plimsoll_lake::Value::Int(239_999)));
    Ok(())
}

/// A row is written anew as often as the sizes have orders of magnitude, not each time that it is compacted.
#[tokio::test]
async fn a_row_is_rewritten_a_few_times_only() -> Outcome {
    let table = numbers().await?;
    let compaction = Compaction { min_files: 4, ..Compaction::default() };
    let mut rewritten = 0;
    for beat in 0..16 {
        for n in 0..4 {
            flushed(&table, 0, [beat * 4 + n]).await?;
        }
        rewritten += table.compact(&compaction).await?.from;
    }
    assert!(rewritten <= 64 + 16 + 4, "{rewritten} files of 64");
    assert!(table.snapshot().await?.files().len() <= 8);
    assert_eq!(all(&table).await?, (0..64).collect::<Vec<_>>());
    Ok(())
}

/// What jobs have read and what they have not are never merged with each other, so that old rows do not
/// show as new to them.
#[tokio::test]
async fn what_jobs_have_read_stays_apart() -> Outcome {
    let table = numbers().await?;
    for n in 0..4 {
        flushed(&table, 0, [n]).await?;
    }
    let had = table.snapshot().await?.version();
    for n in 4..8 {
        flushed(&table, 0, [n]).await?;
    }
    let compaction = Compaction { min_files: 2, jobs_have_read: Some(had), ..Compaction::default() };
    for _ in 0..2 {
        table.compact(&compaction).await?;
        let now = table.snapshot().await?;
        assert_eq!(now.files().len(), 2);
        let new = table.added_since(had, &now).await?;
        assert_eq!(read(&table, &new).await?, [4, 5, 6, 7]);
    }
    Ok(())
}

/// What a merger of many files leaves is told by a checkpoint at once: a reader that comes next replays nothing of
/// the files that went.
#[tokio::test]
async fn a_merger_of_many_files_makes_a_checkpoint() -> Outcome {
    let folder = tempfile::tempdir()?;
    let lake = Lake::open(&folder.path().display().to_string(), number_schemas()?).await?;
    let table = lake.table("numbers").await?;
    let mut files = Vec::new();
    for n in 0..60 {
        files.extend(table.write(&[rows(0, [n])?], Order::AsIs).await?);
    }
    table.append(files, &[]).await?;
    table.compact(&Compaction::default()).await?;
    let version = table.snapshot().await?.version();
    let hint = std::fs::read_to_string(folder.path().join("numbers/_delta_log/_last_checkpoint"))?;
    assert!(hint.contains(&format!("\"version\":{version},")), "{hint}");
    assert_eq!(all(&table).await?, (0..60).collect::<Vec<_>>());
    Ok(())
}

/// Days that are too old go whole, the table says from when on it holds rows, and doing it again changes
/// nothing; a rewrite that started before is refused.
#[tokio::test]
async fn old_days_go_whole() -> Outcome {
    let table = numbers().await?;
    for day in 0..3 {
        flushed(&table, day, [i64::from(day)]).await?;
    }
    let before = table.snapshot().await?;
    let gone = table.retain(date(1970, 1, 3)).await?;
    assert_eq!((gone.files, gone.rows), (2, 2));
    let now = table.snapshot().await?;
    assert_eq!(now.retained_from(), Some(2));
    assert_eq!(all(&table).await?, [2]);
    table.retain(date(1970, 1, 3)).await?;
    table.retain(date(1970, 1, 2)).await?;
    assert_eq!(table.snapshot().await?.version(), now.version(), "nothing is old");
    let stale = table.rewrite(&before, vec![], vec![before.files()[2].clone()], &[], true).await;
    assert!(matches!(stale, Err(Error::Conflict { .. })), "{stale:?}");
    assert_eq!(read(&table, before.files()).await?, [0, 1, 2], "until a vacuum");
    Ok(())
}

/// A pinned version stays readable, by a process that has never seen it, through compaction, checkpoints and
/// vacuums; the log before it goes, and once the pin is gone the version goes too.
#[tokio::test]
async fn a_pinned_version_outlives_vacuums() -> Outcome {
    let store = Faulty::new(Fault::Refused);
    let table = store.table().await?;
    for n in 0..60 {
        flushed(&table, 0, [n]).await?;
    }
    let pin = table.snapshot().await?.version();
    for n in 60..170 {
        flushed(&table, 0, [n]).await?;
    }
    let compaction = Compaction { min_files: 2, ..Compaction::default() };
    table.compact(&compaction).await?;
    table.checkpoint().await?;
    a_moment().await;
    let dry = table.vacuum(&Vacuum { pinned: vec![pin], dry_run: true, ..soon() }).await?;
    let done = table.vacuum(&Vacuum { pinned: vec![pin], ..soon() }).await?;
    assert_eq!(dry, done);
    assert_eq!(done.files, 110, "all but those of the pin and the last");
    assert!(done.log_entries >= 50, "{done:?}");
    let afresh = store.table().await?;
    let pinned = afresh.snapshot_at(pin).await?;
    assert_eq!(read(&afresh, pinned.files()).await?, (0..60).collect::<Vec<_>>());
    assert_eq!(all(&afresh).await?, (0..170).collect::<Vec<_>>());
    assert!(afresh.snapshot_at(3).await.is_err(), "too old, and not pinned");
    table.vacuum(&soon()).await?;
    let afresh = store.table().await?;
    assert!(afresh.snapshot_at(pin).await.is_err());
    assert_eq!(all(&afresh).await?, (0..170).collect::<Vec<_>>());
    flushed(&afresh, 0, [170]).await?;
    assert_eq!(all(&store.table().await?).await?.len(), 171);
    Ok(())
}

/// A vacuum that is cut off anywhere leaves what is kept readable, and the next one finishes.
#[tokio::test]
async fn a_vacuum_may_be_cut_off_anywhere() -> Outcome {
    for removals in 0.. {
        let bucket = Arc::new(object_store::memory::InMemory::new());
        let quiet = crate::chaos::Chaos::new(&bucket, crate::chaos::Odds::default(), 1);
        let table = quiet.table().await?;
        for n in 0..6 {
            flushed(&table, 0, [n]).await?;
        }
        table.checkpoint().await?;
        table.compact(&Compaction { min_files: 2, ..Compaction::default() }).await?;
        a_moment().await;
        let mortal = crate::chaos::Chaos::new(&bucket, crate::chaos::Odds::default(), 2);
        let dying = mortal.table().await?;
        mortal.dies_after(removals);
        let outcome = dying.vacuum(&soon()).await;
        assert_eq!(all(&quiet.table().await?).await?, (0..6).collect::<Vec<_>>(), "after {removals}");
        table.vacuum(&soon()).await?;
        assert_eq!(table.vacuum(&soon()).await?.files, 0);
        assert_eq!(all(&quiet.table().await?).await?, (0..6).collect::<Vec<_>>());
        if outcome.is_ok() {
            return Ok(());
        }
    }
    Ok(())
}

/// A file that no version names stays until it is old of its own account, however short versions are kept.
#[tokio::test]
async fn what_is_not_committed_yet_stays() -> Outcome {
    let table = numbers().await?;
    flushed(&table, 0, [1]).await?;
    let waiting = written(&table, 0, 2..3).await?;
    a_moment().await;
    let hasty = Vacuum { retention: Duration::ZERO, ..Vacuum::default() };
    assert_eq!(table.vacuum(&hasty).await?.files, 0);
    table.append(waiting, &[]).await?;
    assert_eq!(all(&table).await?, [1, 2]);
    Ok(())
}

/// Rows are taken out of files: the rest stays, in order, and does not show as new.
#[tokio::test]
async fn rows_are_taken_out() -> Outcome {
    let table = numbers().await?;
    flushed(&table, 0, 0..10).await?;
    flushed(&table, 0, 10..20).await?;
    flushed(&table, 1, 20..22).await?;
    let base = table.snapshot().await?;
    let (mut add, mut remove, mut went) = (Vec::new(), Vec::new(), 0);
    for file in base.files() {
        let keep = |rows: &RecordBatch| {
            let n = rows
                .column_by_name("n")
                .cloned()
                .ok_or_else(|| Error::Encode { table: "numbers".to_owned(), reason: "no n".to_owned() })?;
            let n = arrow::array::AsArray::as_primitive::<arrow::datatypes::Int64Type>(&n).clone();
            Ok(n.iter().map(|n| n.map(|n| n % 2 == 0 && n < 10 || (10..20).contains(&n))).collect())
        };
        if let Filtered::Changed { file: rest, removed } = table.filter(file, keep).await? {
            add.extend(rest);
            remove.push(file.clone());
            went += removed;
        }
    }
    assert_eq!((add.len(), remove.len(), went), (1, 2, 7));
    table.remove_rows(&base, add, remove, &[("plimsoll/erased".to_owned(), 1)]).await?;
    let now = table.snapshot().await?;
    assert_eq!(
        read(&table, now.files()).await?,
        [0, 2, 4, 6, 8].into_iter().chain(10..20).collect::<Vec<_>>()
    );
    assert_eq!(table.added_since(base.version(), &now).await?, []);
    Ok(())
}
