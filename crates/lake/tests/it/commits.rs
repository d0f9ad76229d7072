//! Several writers: each row is counted once, whoever was first.

use std::time::Duration;

use futures::future::try_join_all;
use plimsoll_lake::{Appended, Error, Lake, REWRITE_APP, Snapshot, Table, Vacuum};

use crate::fixtures::{Outcome, all, number_schemas, numbers, read, written};

fn txn(app: &str, version: i64) -> Vec<(String, i64)> {
    vec![(app.to_owned(), version)]
}

/// Merges all files of a snapshot into one of the same rows, as a compaction does.
async fn compact(table: &Table, base: &Snapshot) -> Outcome<Result<i64, Error>> {
    let rows = read(table, base.files()).await?;
    let merged = written(table, 0, rows).await?;
    Ok(table.rewrite(base, merged, base.files().to_vec(), &[], false).await)
}

/// A transaction that the table holds changes nothing, from however fresh a snapshot it is offered:
/// a segment replayed after a crash is not counted twice.
#[tokio::test]
async fn a_transaction_is_taken_once() -> Outcome {
    let table = numbers().await?;
    let first = table.append(written(&table, 0, 0..10).await?, &txn("otlp/a", 5)).await?;
    assert_eq!(first, Appended::Committed { version: 1 });
    for version in [5, 4] {
        let again = table.append(written(&table, 0, 0..10).await?, &txn("otlp/a", version)).await?;
        assert_eq!(again, Appended::AlreadyThere);
    }
    let snapshot = table.snapshot().await?;
    assert_eq!((snapshot.version(), snapshot.txn("otlp/a")), (1, Some(5)));
    let other = table.append(written(&table, 0, 10..20).await?, &txn("otlp/b", 1)).await?;
    assert_eq!(other, Appended::Committed { version: 2 });
    assert_eq!(all(&table).await?, (0..20).collect::<Vec<_>>());
    Ok(())
}

/// Several transactions in one commit (the partitions of a topic) go together or not at all; where
/// some are there and others not, nobody can tell which rows are, and the writer is told.
#[tokio::test]
async fn transactions_that_are_partly_there_are_told() -> Outcome {
    let table = numbers().await?;
    table.append(written(&table, 0, 0..1).await?, &txn("kafka/t/0", 7)).await?;
    let both = [("kafka/t/0".to_owned(), 7), ("kafka/t/1".to_owned(), 3)];
    let told = table.append(written(&table, 0, 0..2).await?, &both).await;
    assert!(matches!(&told, Err(Error::PartlyThere { app, held: 7, .. }) if app == "kafka/t/0"), "{told:?}");
    assert_eq!(all(&table).await?, [0]);
    Ok(())
}

/// Two compactions that started from the same version: the second fails and 40 rows stay 40. (The
/// library's own conflict check lets both through, and 40 become 80.)
#[tokio::test]
async fn of_two_stale_rewrites_the_second_fails() -> Outcome {
    let table = numbers().await?;
    for n in 0..4 {
        table.append(written(&table, 0, n * 10..(n + 1) * 10).await?, &[]).await?;
    }
    let base = table.snapshot().await?;
    let first = compact(&table, &base).await??;
    let second = compact(&table, &base).await?;
    assert!(matches!(second, Err(Error::Conflict { .. })), "{second:?}");
    assert_eq!(all(&table).await?, (0..40).collect::<Vec<_>>());
    let now = table.snapshot().await?;
    assert_eq!((now.version(), now.files().len(), now.rows()), (first, 1, 40));
    assert_eq!(now.txn(REWRITE_APP), Some(base.version() + 1));
    // From what the table is now it may be rewritten again.
    compact(&table, &now).await??;
    assert_eq!(all(&table).await?.len(), 40);
    Ok(())
}

/// A job that replaces rows and a compaction that started before it: the later of the two fails,
/// though they touch different files.
#[tokio::test]
async fn a_compaction_and_a_job_do_not_go_together() -> Outcome {
    let table = numbers().await?;
    table.append(written(&table, 0, 0..10).await?, &[]).await?;
    table.append(written(&table, 1, 10..20).await?, &[]).await?;
    let base = table.snapshot().await?;
    let day = |n: usize| vec![base.files()[n].clone()];
    let replaced = written(&table, 0, 100..105).await?;
    table.rewrite(&base, replaced, day(0), &txn("job/x", 1), true).await?;
    let same = written(&table, 1, 10..20).await?;
    let second = table.rewrite(&base, same, day(1), &[], false).await;
    assert!(second.as_ref().is_err_and(Error::is_conflict), "{second:?}");
    assert_eq!(all(&table).await?.len(), 15);
    Ok(())
}

/// A rewrite whose transaction another writer has moved meanwhile fails: its input is stale.
#[tokio::test]
async fn a_rewrite_fails_where_its_transaction_has_moved() -> Outcome {
    let table = numbers().await?;
    let base = table.snapshot().await?;
    table.append(written(&table, 0, 0..1).await?, &txn("job/x", 1)).await?;
    let files = written(&table, 0, 1..2).await?;
    let stale = table.rewrite(&base, files, vec![], &txn("job/x", 2), true).await;
    assert!(matches!(stale, Err(Error::Conflict { .. })), "{stale:?}");
    assert_eq!(all(&table).await?, [0]);
    Ok(())
}

/// Rows may arrive while files are merged, and a rewrite may land while rows are written: neither
/// loses anything.
#[tokio::test]
async fn appends_and_a_rewrite_go_together() -> Outcome {
    let table = numbers().await?;
    for n in 0..4 {
        table.append(written(&table, 0, n * 10..(n + 1) * 10).await?, &[]).await?;
    }
    let base = table.snapshot().await?;
    let late = written(&table, 0, 40..41).await?;
    table.append(written(&table, 0, 41..42).await?, &[]).await?;
    compact(&table, &base).await??;
    table.append(late, &[]).await?;
    assert_eq!(all(&table).await?, (0..42).collect::<Vec<_>>());
    assert_eq!(table.snapshot().await?.files().len(), 3);
    Ok(())
}

/// What is new after a version: files with new rows; not what a compaction made of old ones, but what
/// it made of new ones, whose rows would be lost else.
#[tokio::test]
async fn only_new_rows_show_as_new() -> Outcome {
    let table = numbers().await?;
    table.append(written(&table, 0, 0..10).await?, &[]).await?;
    table.append(written(&table, 0, 10..20).await?, &[]).await?;
    let seen = table.snapshot().await?;
    compact(&table, &seen).await??;
    let merged = table.snapshot().await?;
    assert_eq!(table.added_since(seen.version(), &merged).await?, []);
    assert_eq!(table.added_since(merged.version(), &merged).await?, []);

    table.append(written(&table, 1, 20..30).await?, &[]).await?;
    let appended = table.snapshot().await?;
    let new = table.added_since(seen.version(), &appended).await?;
    assert_eq!(read(&table, &new).await?, (20..30).collect::<Vec<_>>());

    table.append(written(&table, 0, 30..31).await?, &[]).await?;
    compact(&table, &table.snapshot().await?).await??;
    let all_merged = table.snapshot().await?;
    let new = read(&table, &table.added_since(seen.version(), &all_merged).await?).await?;
    assert!((20..31).all(|n| new.contains(&n)), "{new:?}");
    assert_eq!(table.added_since(0, &merged).await?.len(), 1, "all rows are new after version 0");
    Ok(())
}

/// Twelve writers through handles that know nothing of each other, as processes have them: every
/// append lands once, by retries.
#[tokio::test(flavor = "multi_thread")]
async fn many_writers_lose_nothing() -> Outcome {
    let folder = tempfile::tempdir()?;
    let location = folder.path().display().to_string();
    let writer = |n: i64| {
        let location = location.clone();
        async move {
            let lake = Lake::open(&location, number_schemas()?).await?;
            let table = lake.table("numbers").await?;
            for seq in 0..5 {
                let files = written(&table, 0, [n * 5 + seq]).await?;
                let outcome = table.append(files, &txn(&format!("otlp/{n}"), seq)).await?;
                assert!(matches!(outcome, Appended::Committed { .. }), "{outcome:?}");
            }
            Outcome::Ok(())
        }
    };
    try_join_all((0..12).map(writer)).await?;
    let lake = Lake::open(&location, number_schemas()?).await?;
    let table = lake.table("numbers").await?;
    assert_eq!(all(&table).await?, (0..60).collect::<Vec<_>>());
    assert_eq!(table.snapshot().await?.version(), 60);
    Ok(())
}

/// A commit on a version that is no longer the latest fails and changes nothing.
#[tokio::test]
async fn a_commit_is_one_attempt() -> Outcome {
    let table = numbers().await?;
    let base = table.snapshot().await?;
    table.append(written(&table, 0, 0..1).await?, &[]).await?;
    let commit = plimsoll_lake::Commit {
        add: written(&table, 0, 1..2).await?,
        data_change: true,
        operation: "WRITE".to_owned(),
        ..plimsoll_lake::Commit::default()
    };
    let told = table.commit(&base, commit).await;
    assert!(matches!(told, Err(Error::Conflict { .. })), "{told:?}");
    assert_eq!(all(&table).await?, [0]);
    Ok(())
}

/// Past versions are read as they were, through checkpoints and by other handles, as the pinned
/// versions of `snapshots` need; transactions survive the checkpoint.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn past_versions_stay_readable() -> Outcome {
    let folder = tempfile::tempdir()?;
    let location = folder.path().display().to_string();
    let lake = Lake::open(&location, number_schemas()?).await?;
    let table = lake.table("numbers").await?;
    for n in 0..120 {
        table.append(written(&table, 0, [n]).await?, &txn(&format!("app/{}", n % 3), n)).await?;
    }
    let afresh = Lake::open(&location, number_schemas()?).await?;
    let afresh = afresh.table("numbers").await?;
    for table in [&table, &afresh] {
        for version in [120, 3, 50, 51, 119, 0] {
            let then = table.snapshot_at(version).await?;
            assert_eq!(then.version(), version);
            assert_eq!(read(table, then.files()).await?, (0..version).collect::<Vec<_>>());
            let last = (0..version).rev().find(|n| n % 3 == 1);
            assert_eq!(then.txn("app/1"), last, "at {version}");
        }
        assert!(table.snapshot_at(121).await.is_err());
    }
    let log = folder.path().join("numbers/_delta_log");
    assert!(log.join("00000000000000000100.checkpoint.parquet").exists());
    Ok(())
}

/// Clean-up removes what nobody can need any more and nothing else.
#[tokio::test]
async fn vacuum_keeps_what_is_live() -> Outcome {
    let table = numbers().await?;
    for n in 0..4 {
        table.append(written(&table, 0, n * 10..(n + 1) * 10).await?, &[]).await?;
    }
    compact(&table, &table.snapshot().await?).await??;
    written(&table, 0, 99..100).await?;
    let day = Duration::from_secs(24 * 60 * 60);
    assert_eq!(table.vacuum(&Vacuum { retention: day, ..Vacuum::default() }).await?.files, 0);
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(
        table
            .vacuum(&Vacuum { retention: Duration::ZERO, uncommitted: Duration::ZERO, ..Vacuum::default() })
            .await?
            .files,
        5
    );
    assert_eq!(all(&table).await?, (0..40).collect::<Vec<_>>());
    table.append(written(&table, 0, 40..41).await?, &[]).await?;
    assert_eq!(all(&table).await?.len(), 41);
    Ok(())
}

/// Where the log no longer reaches back, everything is new: a job recomputes rather than miss rows.
#[tokio::test]
async fn without_the_old_log_all_is_new() -> Outcome {
    let folder = tempfile::tempdir()?;
    let location = folder.path().display().to_string();
    let lake = Lake::open(&location, number_schemas()?).await?;
    let table = lake.table("numbers").await?;
    for n in 0..5 {
        table.append(written(&table, 0, [n]).await?, &[]).await?;
    }
    table.checkpoint().await?;
    for version in 0..5 {
        let entry = format!("numbers/_delta_log/{version:020}.json");
        std::fs::remove_file(folder.path().join(entry))?;
    }
    let afresh = Lake::open(&location, number_schemas()?).await?;
    let afresh = afresh.table("numbers").await?;
    afresh.append(written(&afresh, 0, [5]).await?, &[]).await?;
    let now = afresh.snapshot().await?;
    assert_eq!(afresh.added_since(5, &now).await?.len(), 1);
    assert_eq!(afresh.added_since(2, &now).await?.len(), 6);
    assert_eq!(all(&afresh).await?.len(), 6);
    Ok(())
}
