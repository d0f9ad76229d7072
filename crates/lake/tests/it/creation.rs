//! Lakes and tables that are not there yet, or not quite the same.

use std::sync::Arc;

use futures::future::try_join_all;
use plimsoll_lake::{Compaction, Error, Lake, Schemas};

use crate::fixtures::{Outcome, all, number_schemas, written};

/// Several processes that start at once on an empty folder all get the one table.
#[tokio::test(flavor = "multi_thread")]
async fn racing_creators_all_succeed() -> Outcome {
    let folder = tempfile::tempdir()?;
    let location = folder.path().join("new/lake").display().to_string();
    let creator = |n: i64| {
        let location = location.clone();
        async move {
            let lake = Lake::open(&location, number_schemas()?).await?;
            let table = lake.table("numbers").await?;
            table.append(written(&table, 0, [n]).await?, &[]).await?;
            Outcome::Ok(())
        }
    };
    try_join_all((0..8).map(creator)).await?;
    let lake = Lake::open(&location, number_schemas()?).await?;
    let table = lake.existing("numbers").await?.ok_or("no table")?;
    assert_eq!(all(&table).await?, (0..8).collect::<Vec<_>>());
    assert_eq!(table.snapshot().await?.version(), 8, "one creation, eight appends");
    Ok(())
}

/// A table that nobody has made is not there, and asking does not make it; one that is not described
/// is told with the names that are.
#[tokio::test]
async fn asking_makes_nothing() -> Outcome {
    let folder = tempfile::tempdir()?;
    let lake = Lake::open(&folder.path().display().to_string(), number_schemas()?).await?;
    assert!(lake.existing("numbers").await?.is_none());
    assert_eq!(std::fs::read_dir(folder.path())?.count(), 0);
    let told = lake.existing("letters").await.err().map(|e| e.to_string());
    assert!(told.is_some_and(|t| t.contains("letters") && t.contains("numbers")));
    Ok(())
}

/// Locations that cannot be a lake are refused with what to write instead.
#[tokio::test]
async fn wrong_locations_are_refused() -> Outcome {
    let file = tempfile::NamedTempFile::new()?;
    let under_a_file = file.path().join("lake").display().to_string();
    for location in ["", "ftp://host/lake", "file://host/lake", under_a_file.as_str()] {
        let opened = Lake::open(location, number_schemas()?).await;
        assert!(matches!(opened, Err(Error::Location { .. })), "{location}: {opened:?}");
    }
    Ok(())
}

fn with(columns: &str) -> Outcome<Arc<Schemas>> {
    let text = format!(
        "description = \"d\"\npartition_by = [\"day\"]\ncolumns = [
          {{ name = \"n\", type = \"bigint\", required = true, doc = \"\" }},
          {{ name = \"day\", type = \"date\", required = true, doc = \"\" }},{columns}]"
    );
    Ok(Arc::new(Schemas::load([("numbers.toml".to_owned(), text)])?))
}

/// A description that gained a column widens the table: old rows have null there, old handles go on.
#[tokio::test]
async fn new_columns_are_added() -> Outcome {
    let folder = tempfile::tempdir()?;
    let location = folder.path().display().to_string();
    let old = Lake::open(&location, with("")?).await?.table("numbers").await?;
    old.append(written(&old, 0, 0..3).await?, &[]).await?;
    let wide = with("{ name = \"note\", type = \"string\", doc = \"\" }")?;
    let new = Lake::open(&location, Arc::clone(&wide)).await?.table("numbers").await?;
    assert_eq!(new.snapshot().await?.version(), 2);
    new.append(written(&new, 0, 3..5).await?, &[]).await?;
    old.append(written(&old, 0, 5..6).await?, &[]).await?;
    assert_eq!(all(&new).await?, (0..6).collect::<Vec<_>>());
    let again = Lake::open(&location, wide).await?.table("numbers").await?;
    assert_eq!(again.snapshot().await?.version(), 4, "nothing is left to widen");
    Ok(())
}

/// A description of another type does not fit the rows that are there.
#[tokio::test]
async fn tables_of_another_shape_are_refused() -> Outcome {
    let folder = tempfile::tempdir()?;
    let location = folder.path().display().to_string();
    let note = "{ name = \"note\", type = \"string\", doc = \"\" }";
    Lake::open(&location, with(note)?).await?.table("numbers").await?;
    let told = Lake::open(&location, with(&note.replace("string", "bigint"))?).await?.table("numbers").await;
    assert!(matches!(told, Err(Error::Unsupported { .. })), "{told:?}");
    Ok(())
}

/// The same tables on an object store: creators race, appends are conditional puts, another handle reads.
///
/// Needs a bucket, named as `s3://bucket/prefix` by `PLIMSOLL_TEST_BUCKET`, whose credentials are in the
/// environment; skipped without.
#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::print_stderr, reason = "says that it was skipped")]
async fn a_bucket_works_like_a_disk() -> Outcome {
    let Ok(bucket) = std::env::var("PLIMSOLL_TEST_BUCKET") else {
        eprintln!("skipped: PLIMSOLL_TEST_BUCKET names no bucket");
        return Ok(());
    };
    let location = format!("{bucket}/{}", std::process::id());
    let writer = |n: i64| {
        let location = location.clone();
        async move {
            let lake = Lake::open(&location, number_schemas()?).await?;
            let table = lake.table("numbers").await?;
            table.append(written(&table, 0, [n]).await?, &[(format!("otlp/{n}"), 1)]).await?;
            Outcome::Ok(())
        }
    };
    try_join_all((0..6).map(writer)).await?;
    let table = Lake::open(&location, number_schemas()?).await?.table("numbers").await?;
    assert_eq!(all(&table).await?, (0..6).collect::<Vec<_>>());
    let compaction = Compaction { min_files: 2, ..Compaction::default() };
    table.compact(&compaction).await?;
    table.checkpoint().await?;
    let afresh = Lake::open(&location, number_schemas()?).await?.table("numbers").await?;
    assert_eq!(all(&afresh).await?, (0..6).collect::<Vec<_>>());
    assert_eq!(afresh.snapshot().await?.txn("otlp/3"), Some(1));
    Ok(())
}
