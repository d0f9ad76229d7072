//! Crashes and damage (T34, T35): what is visible is whole, and damage is named.

use std::fs;

use plimsoll_lake::{Appended, Compaction, Error, Lake};

use crate::faults::{Fault, Faulty};
use crate::fixtures::{Outcome, all, number_schemas, written};

/// Files written by a process that died before its commit are not part of the table, and do not stand
/// in the way of the next attempt.
#[tokio::test]
async fn what_was_not_committed_is_not_visible() -> Outcome {
    let folder = tempfile::tempdir()?;
    let location = folder.path().display().to_string();
    {
        let lake = Lake::open(&location, number_schemas()?).await?;
        let table = lake.table("numbers").await?;
        let files = written(&table, 0, 0..10).await?;
        assert!(folder.path().join("numbers").join(&files[0].path).exists());
        assert_eq!(table.snapshot().await?.files(), []);
    }
    let lake = Lake::open(&location, number_schemas()?).await?;
    let table = lake.table("numbers").await?;
    assert_eq!(all(&table).await?, [0_i64; 0]);
    table.append(written(&table, 0, 0..10).await?, &[]).await?;
    assert_eq!(all(&table).await?.len(), 10);
    Ok(())
}

/// A file cut by 1 byte, by 8 bytes, to nothing, to its magic number, overwritten or gone: each is told
/// with its path; nothing panics.
#[tokio::test]
async fn damaged_files_are_named() -> Outcome {
    let folder = tempfile::tempdir()?;
    let lake = Lake::open(&folder.path().display().to_string(), number_schemas()?).await?;
    let table = lake.table("numbers").await?;
    let files = written(&table, 0, 0..1000).await?;
    let path = folder.path().join("numbers").join(&files[0].path);
    let whole = fs::read(&path)?;
    let cuts: [Vec<u8>; 5] = [
        whole[..whole.len() - 1].to_vec(),
        whole[..whole.len() - 8].to_vec(),
        Vec::new(),
        b"PAR1".to_vec(),
        vec![0x5a; whole.len()],
    ];
    for cut in cuts {
        fs::write(&path, &cut)?;
        match table.read(&files[0]).await {
            Err(Error::Damaged { path, .. }) => assert!(path.contains(&files[0].path), "{path}"),
            other => return Err(format!("{} bytes: {other:?}", cut.len()).into()),
        }
    }
    fs::remove_file(&path)?;
    assert!(matches!(table.read(&files[0]).await, Err(Error::Damaged { .. })));
    Ok(())
}

/// A flipped byte anywhere in a file is an error or, where no reader looks, nothing; never a panic.
#[tokio::test]
async fn a_flipped_byte_does_not_bring_the_process_down() -> Outcome {
    let folder = tempfile::tempdir()?;
    let lake = Lake::open(&folder.path().display().to_string(), number_schemas()?).await?;
    let table = lake.table("numbers").await?;
    let files = written(&table, 0, 0..100).await?;
    let path = folder.path().join("numbers").join(&files[0].path);
    let whole = fs::read(&path)?;
    for at in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x55;
        fs::write(&path, &flipped)?;
        if let Err(error) = table.read(&files[0]).await {
            assert!(error.to_string().contains(&files[0].path), "byte {at}: {error}");
        }
    }
    Ok(())
}

/// A log entry that is not whole cannot exist (it is linked after it is synced); one that was damaged
/// later is told with the table's name, and not skipped.
#[tokio::test]
async fn a_damaged_log_is_told() -> Outcome {
    let folder = tempfile::tempdir()?;
    let location = folder.path().display().to_string();
    let lake = Lake::open(&location, number_schemas()?).await?;
    let table = lake.table("numbers").await?;
    table.append(written(&table, 0, 0..10).await?, &[]).await?;
    let entry = folder.path().join("numbers/_delta_log/00000000000000000001.json");
    let whole = fs::read(&entry)?;
    fs::write(&entry, &whole[..whole.len() - 20])?;
    let afresh = Lake::open(&location, number_schemas()?).await?;
    let told = afresh.table("numbers").await.err().map(|e| e.to_string());
    assert!(told.as_ref().is_some_and(|t| t.contains("numbers")), "{told:?}");
    Ok(())
}

/// T35: a compaction that dies at any of its writes, a full disk included, leaves exactly the rows that
/// were there, the next run finishes it, and the loser of two leaves nothing behind that counts.
#[tokio::test]
async fn a_compaction_that_dies_changes_nothing() -> Outcome {
    let compaction = Compaction { min_files: 2, ..Compaction::default() };
    for writes in 0.. {
        let store = Faulty::new(Fault::Refused);
        let table = store.table().await?;
        for n in 0..4 {
            table
                .append(written(&table, n % 2, i64::from(n) * 100..i64::from(n) * 100 + 100).await?, &[])
                .await?;
        }
        store.fail_after(writes);
        let outcome = table.compact(&compaction).await;
        let seen = all(&store.table().await?).await?;
        assert_eq!(seen, (0..400).collect::<Vec<_>>(), "after {writes} writes");
        store.fail_after(i64::MAX);
        if outcome.is_ok() {
            assert_eq!(writes, 4, "two files and two commits");
            return Ok(());
        }
        assert!(outcome.is_err_and(|e| e.to_string().contains("no space left")));
        let afresh = store.table().await?;
        afresh.compact(&compaction).await?;
        assert_eq!(afresh.snapshot().await?.files().len(), 2);
        assert_eq!(all(&afresh).await?.len(), 400);
    }
    Ok(())
}

/// An append whose answer is lost is found in the table and not made again, with or without a
/// transaction.
#[tokio::test]
async fn a_lost_answer_does_not_count_rows_twice() -> Outcome {
    for txns in [vec![], vec![("otlp/a".to_owned(), 1)]] {
        let store = Faulty::new(Fault::AnswerLost);
        let table = store.table().await?;
        let files = written(&table, 0, 0..10).await?;
        store.fail_after(0);
        let outcome = table.append(files, &txns).await?;
        assert_eq!(outcome, Appended::Committed { version: 1 });
        assert_eq!(all(&store.table().await?).await?.len(), 10);
    }
    Ok(())
}

/// A disk that fills up fails the write, by name of the file, and nothing else.
#[tokio::test]
async fn a_full_disk_fails_the_write_alone() -> Outcome {
    let store = Faulty::new(Fault::Refused);
    let table = store.table().await?;
    table.append(written(&table, 0, 0..10).await?, &[]).await?;
    store.fail_after(0);
    let told = written(&table, 0, 10..20).await.err().map(|e| e.to_string());
    assert!(told.is_some_and(|t| t.contains("numbers/day=1970-01-01/sorted-")));
    assert_eq!(all(&table).await?.len(), 10);
    store.fail_after(i64::MAX);
    table.append(written(&table, 0, 10..20).await?, &[]).await?;
    assert_eq!(all(&table).await?.len(), 20);
    Ok(())
}
