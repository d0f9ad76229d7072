//! Versions side by side: older files, newer columns, logs from the future.

use std::sync::Arc;

use arrow::array::{ArrayRef, Date32Array, Int64Array, RecordBatch, StringArray};
use jiff::civil::date;
use plimsoll_lake::{Compaction, Error, Lake, Order, Schemas, Table};

use crate::fixtures::{Outcome, all, as_text, number_schemas, written};

/// The table `numbers` with one column more, which is never null in what is written now.
fn newer() -> Outcome<Arc<Schemas>> {
    let text = r#"
        description = "one row per number"
        partition_by = ["day"]
        sort_by = ["n"]
        columns = [
          { name = "n", type = "bigint", required = true, doc = "number" },
          { name = "note", type = "string", required = true, doc = "what is said of it" },
          { name = "day", type = "date", required = true, doc = "its day" },
        ]"#;
    Ok(Arc::new(Schemas::load([("numbers.toml".to_owned(), text.to_owned())])?))
}

async fn noted(table: &Table, n: i64) -> Outcome {
    let rows = RecordBatch::try_from_iter([
        ("n", Arc::new(Int64Array::from(vec![n])) as ArrayRef),
        ("note", Arc::new(StringArray::from(vec!["new"])) as ArrayRef),
        ("day", Arc::new(Date32Array::from(vec![0])) as ArrayRef),
    ])?;
    table.append(table.write(&[rows], Order::AsIs).await?, &[]).await?;
    Ok(())
}

fn closed() -> Compaction {
    Compaction { closed_before: Some(date(1970, 1, 2)), ..Compaction::default() }
}

/// Old files and new ones are read and compacted together: the column that the old ones lack is null.
#[tokio::test]
async fn old_and_new_files_compact_together() -> Outcome {
    let folder = tempfile::tempdir()?;
    let location = folder.path().display().to_string();
    let old = Lake::open(&location, number_schemas()?).await?.table("numbers").await?;
    for n in 0..3 {
        old.append(written(&old, 0, [n]).await?, &[]).await?;
    }
    old.compact(&closed()).await?;
    let new = Lake::open(&location, newer()?).await?.table("numbers").await?;
    assert!(!new.schema().column("note").ok_or("no note")?.required, "older rows have none");
    noted(&new, 3).await?;
    old.append(written(&old, 0, [4]).await?, &[]).await?;
    new.compact(&closed()).await?;
    let now = new.snapshot().await?;
    assert_eq!(now.files().len(), 1);
    let found = as_text(&new.read(&now.files()[0]).await?)?;
    let day = "1970-01-01";
    let expected: Vec<String> = [(0, "NULL"), (1, "NULL"), (2, "NULL"), (3, "new"), (4, "NULL")]
        .map(|(n, note)| format!("{n}|{note}|{day}"))
        .into();
    assert_eq!(found, expected);
    Ok(())
}

/// A build that does not know a column appends and reads what it knows, and rewrites nothing: that would
/// lose the column. Letting days go loses none.
#[tokio::test]
async fn unknown_columns_are_not_lost() -> Outcome {
    let folder = tempfile::tempdir()?;
    let location = folder.path().display().to_string();
    let new = Lake::open(&location, newer()?).await?.table("numbers").await?;
    noted(&new, 0).await?;
    noted(&new, 1).await?;
    let old = Lake::open(&location, number_schemas()?).await?.table("numbers").await?;
    assert_eq!(old.unknown_columns().await?, ["note"]);
    old.append(written(&old, 1, [2]).await?, &[]).await?;
    assert_eq!(all(&old).await?, [0, 1, 2]);
    let base = old.snapshot().await?;
    let files = base.files().to_vec();
    for told in [
        old.compact(&closed()).await.err(),
        old.rewrite(&base, written(&old, 0, [9]).await?, files.clone(), &[], true).await.err(),
        old.filter(&files[0], |rows| Ok(vec![true; rows.num_rows()].into())).await.err(),
    ] {
        let text = told.ok_or("it would lose the column")?.to_string();
        assert!(
            text.contains("numbers") && text.contains("note") && text.contains("newer version"),
            "{text}"
        );
    }
    old.retain(date(1970, 1, 2)).await?;
    assert_eq!(all(&old).await?, [2]);
    Ok(())
}

/// Adds a line to a table's log, as a version from the future would.
fn protocol(folder: &std::path::Path, version: i64, reader: i32, writer: i32) -> Outcome {
    let mut line = format!(
        r#"{{"protocol":{{"minReaderVersion":{reader},"minWriterVersion":{writer},"readerFeatures":["fromTheFuture"],"writerFeatures":["fromTheFuture"]}}}}"#
    );
    if reader != 3 {
        line = format!(r#"{{"protocol":{{"minReaderVersion":{reader},"minWriterVersion":{writer}}}}}"#);
    }
    std::fs::write(folder.join(format!("numbers/_delta_log/{version:020}.json")), line)?;
    Ok(())
}

/// A table that asks for more than this build knows is told as such, by name, when it is read and when it is
/// written, by a handle that was open before too; one that only writers must know is still read.
#[tokio::test]
async fn a_table_from_the_future_is_told() -> Outcome {
    for (reader, writer) in [(3, 7), (99, 99), (1, 6)] {
        let folder = tempfile::tempdir()?;
        let location = folder.path().display().to_string();
        let table = Lake::open(&location, number_schemas()?).await?.table("numbers").await?;
        table.append(written(&table, 0, [1]).await?, &[]).await?;
        let files = written(&table, 0, [2]).await?;
        protocol(folder.path(), 2, reader, writer)?;
        let fresh = Lake::open_existing(&location, number_schemas()?).await?;
        let mut told = vec![table.append(files, &[]).await.err()];
        if reader == 1 {
            assert_eq!(all(&table).await?, [1]);
        } else {
            told.push(table.snapshot().await.err());
            told.push(fresh.existing("numbers").await.err());
        }
        for told in told {
            let error = told.ok_or(format!("{reader} {writer}"))?;
            let text = error.to_string();
            assert!(matches!(error, Error::Unsupported { .. } | Error::Log { .. }), "{error:?}");
            assert!(text.contains("numbers") && !text.contains('\n'), "{text}");
            assert!(text.contains("newer version"), "{text}");
        }
    }
    Ok(())
}
