//! Verify finds what is wrong, names it, and touches nothing.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::civil::date;
use plimsoll_lake::{Compaction, Error, Finding, Kind, Lake, Order, Severity, Table, Verification};

use crate::fixtures::{Outcome, number_schemas, rows, written};

/// A lake with three versions of data and a sorted file.
async fn lake(folder: &Path) -> Outcome<Table> {
    let lake = Lake::open(&folder.display().to_string(), number_schemas()?).await?;
    let table = lake.table("numbers").await?;
    for n in 0..3 {
        table.append(written(&table, 0, n * 100..(n + 1) * 100).await?, &[("otlp/a".to_owned(), n)]).await?;
    }
    table.append(table.write(&[rows(1, (0..50).rev())?], Order::AsIs).await?, &[]).await?;
    let closed = Compaction { closed_before: Some(date(1970, 1, 2)), ..Compaction::default() };
    table.compact(&closed).await?;
    Ok(table)
}

async fn findings(folder: &Path, verification: &Verification) -> Outcome<Vec<Finding>> {
    let before = listed(folder)?;
    let lake = Lake::open_existing(&folder.display().to_string(), number_schemas()?).await?;
    let found = lake.verify(verification, &|_| {}).await?;
    assert_eq!(listed(folder)?, before, "it changes nothing");
    Ok(found)
}

fn listed(folder: &Path) -> Outcome<Vec<(PathBuf, u64)>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else {
                found.push((entry.path(), entry.metadata()?.len()));
            }
        }
    }
    found.sort();
    Ok(found)
}

fn deep() -> Verification {
    Verification { deep: true, ..Verification::default() }
}

/// A sound lake has nothing to find, and each file is counted on the way; one that is not there is refused and
/// not made.
#[tokio::test]
async fn a_sound_lake_is_sound() -> Outcome {
    let folder = tempfile::tempdir()?;
    let table = lake(folder.path()).await?;
    table.checkpoint().await?;
    assert_eq!(findings(folder.path(), &deep()).await?, []);
    let lake = Lake::open_existing(&folder.path().display().to_string(), number_schemas()?).await?;
    let seen = std::sync::Mutex::new(Vec::new());
    lake.verify(&deep(), &|p| seen.lock().unwrap_or_else(|e| e.into_inner()).push((p.files, p.of))).await?;
    let files = table.snapshot().await?.files().len();
    assert_eq!(seen.into_inner()?.last(), Some(&(files, files)));

    let nowhere = folder.path().join("nowhere");
    let told = Lake::open_existing(&nowhere.display().to_string(), number_schemas()?).await;
    assert!(matches!(told, Err(Error::Location { .. })));
    assert!(!nowhere.exists());
    Ok(())
}

/// T34: a file cut by one byte, by eight, to nothing, to its magic number, overwritten or gone: each is named, and
/// the others are still looked at.
#[tokio::test]
async fn damaged_files_are_found() -> Outcome {
    let folder = tempfile::tempdir()?;
    let table = lake(folder.path()).await?;
    let file = table.snapshot().await?.files()[0].clone();
    let path = folder.path().join("numbers").join(&file.path);
    let whole = fs::read(&path)?;
    let mut flipped = whole.clone();
    let middle = flipped.len() / 4;
    flipped[middle..middle + 40].fill(0x5a);
    let cuts: [(Vec<u8>, &[Kind]); 6] = [
        (whole[..whole.len() - 1].to_vec(), &[Kind::Size]),
        (whole[..whole.len() - 8].to_vec(), &[Kind::Size]),
        (Vec::new(), &[Kind::Size]),
        (b"PAR1".to_vec(), &[Kind::Size]),
        (vec![0x5a; whole.len()], &[Kind::Damaged]),
        (flipped, &[Kind::Damaged, Kind::Order]),
    ];
    for (bytes, kinds) in cuts {
        fs::write(&path, &bytes)?;
        let found = findings(folder.path(), &deep()).await?;
        let [one] = found.as_slice() else { return Err(format!("{} bytes: {found:?}", bytes.len()).into()) };
        assert!(kinds.contains(&one.kind), "{one:?}");
        assert_eq!(one.file.as_deref(), Some(file.path.as_str()));
        assert!(!one.what.is_empty() && !one.what_to_do.is_empty() && one.severity == Severity::Fault);
    }
    fs::remove_file(&path)?;
    let found = findings(folder.path(), &Verification::default()).await?;
    assert_eq!(found.iter().map(|f| f.kind).collect::<Vec<_>>(), [Kind::Missing]);
    Ok(())
}

/// Holes and damage in the log, a checkpoint that is none, a hint that leads nowhere.
#[tokio::test]
async fn a_damaged_log_is_found() -> Outcome {
    let damages: [(&str, &[u8], &[Kind]); 4] = [
        ("00000000000000000002.json", b"", &[Kind::LogGap, Kind::Table]),
        ("00000000000000000002.json", b"{\"add\":", &[Kind::LogEntry, Kind::Table]),
        ("00000000000000000004.checkpoint.parquet", b"PAR1", &[Kind::Checkpoint, Kind::Table]),
        ("_last_checkpoint", b"{\"version\":3,\"size\":1}", &[Kind::Checkpoint, Kind::Table]),
    ];
    for (name, bytes, kinds) in damages {
        let folder = tempfile::tempdir()?;
        lake(folder.path()).await?;
        let path = folder.path().join("numbers/_delta_log").join(name);
        if bytes.is_empty() {
            fs::remove_file(&path)?;
        } else {
            fs::write(&path, bytes)?;
        }
        let found = findings(folder.path(), &deep()).await?;
        assert_eq!(found.first().map(|f| f.kind), kinds.first().copied(), "{name}: {found:?}");
        assert!(found.iter().all(|f| kinds.contains(&f.kind)), "{name}: {found:?}");
    }
    Ok(())
}

/// Pins that cannot be read, transactions that go back, files that nobody names, a folder without a log.
#[tokio::test]
async fn oddities_are_found() -> Outcome {
    let folder = tempfile::tempdir()?;
    let table = lake(folder.path()).await?;
    written(&table, 0, [7]).await?;
    table.append(Vec::new(), &[("kafka/a".to_owned(), 9)]).await?;
    let base = table.snapshot().await?;
    let back = plimsoll_lake::Commit {
        txns: vec![("kafka/a".to_owned(), 3)],
        operation: "WRITE".to_owned(),
        ..plimsoll_lake::Commit::default()
    };
    table.commit(&base, back).await?;
    let pinned = [("numbers".to_owned(), vec![1, 2, 99])].into();
    let found = findings(folder.path(), &Verification { deep: true, pinned }).await?;
    let kinds: Vec<Kind> = found.iter().map(|f| f.kind).collect();
    assert_eq!(kinds, [Kind::Transaction, Kind::Pin, Kind::Unreferenced], "{found:?}");
    assert_eq!(found[2].severity, Severity::Note);

    fs::remove_dir_all(folder.path().join("numbers/_delta_log"))?;
    let found = findings(folder.path(), &Verification::default()).await?;
    assert_eq!(found.iter().map(|f| f.kind).collect::<Vec<_>>(), [Kind::Table]);
    assert!(found[0].what.contains("log is gone"));
    Ok(())
}
