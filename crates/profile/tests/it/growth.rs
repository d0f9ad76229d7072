//! Lakes of other versions: columns that came later, columns that are not known yet.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use bytes::Bytes;
use datafusion::parquet::arrow::{ArrowWriter, arrow_reader::ParquetRecordBatchReaderBuilder};
use futures::TryStreamExt;
use object_store::{ObjectStore, ObjectStoreExt, path::Path};
use plimsoll_profile::ProfileError;
use serde_json::{Value, json};

use crate::support::{Outcome, RECEIVED, World, chat, eventful_run, everything, schemas, simple_run};

/// Columns that an older version did not have, among them required ones.
const LATER: [(&str, &[&str]); 7] = [
    (
        "spans",
        &[
            "weight",
            "signal",
            "run_key",
            "link_trace_id",
            "history_tokens",
            "service_tier",
            "cache_write_1h",
            "audio_tokens",
        ],
    ),
    (
        "runs",
        &[
            "weight",
            "complete",
            "spans",
            "first_received",
            "last_received",
            "trace_ids",
            "retries_after_timeout",
            "known_cost_usd",
            "cost_coverage",
        ],
    ),
    ("model_calls", &["weight", "usage_source", "kind", "scope_version", "cost_usd"]),
    (
        "attempts",
        &[
            "weight",
            "billed",
            "kind",
            "layer",
            "after",
            "unchanged",
            "service_tier",
            "cache_write_1h",
            "audio_tokens",
            "cost_usd",
            "list_usd",
            "cost_basis",
        ],
    ),
    ("tool_calls", &["weight"]),
    ("run_profiles", &["weight", "coverage"]),
    ("call_profiles", &["weight", "coverage", "cv2"]),
];

fn is_later(table: &str, column: &str) -> bool {
    LATER.iter().any(|(name, columns)| *name == table && columns.contains(&column))
}

/// Makes a lake what an older version would have left: neither its files nor its logs have the columns.
async fn age(store: &Arc<dyn ObjectStore>) -> Outcome {
    let mut sizes = BTreeMap::new();
    let objects: Vec<_> = store.list(None).try_collect().await?;
    for object in objects.iter().filter(|object| object.location.extension() == Some("parquet")) {
        let table = object.location.parts().next().ok_or("a file without a table")?.as_ref().to_owned();
        let bytes =
            without(&store.get(&object.location).await?.bytes().await?, |column| is_later(&table, column))?;
        sizes.insert(object.location.clone(), bytes.len());
        store.put(&object.location, bytes.into()).await?;
    }
    for object in objects.iter().filter(|object| object.location.extension() == Some("json")) {
        let table = object.location.parts().next().ok_or("a log without a table")?.as_ref().to_owned();
        let entry = store.get(&object.location).await?.bytes().await?;
        let mut lines = Vec::new();
        for line in std::str::from_utf8(&entry)?.lines() {
            let mut action: Value = serde_json::from_str(line)?;
            if let Some(text) = action["metaData"]["schemaString"].as_str() {
                let mut schema: Value = serde_json::from_str(text)?;
                if let Some(fields) = schema["fields"].as_array_mut() {
                    fields.retain(|field| !is_later(&table, field["name"].as_str().unwrap_or_default()));
                }
                action["metaData"]["schemaString"] = json!(schema.to_string());
            }
            if let Some(path) = action["add"]["path"].as_str() {
                let file = Path::from(format!("{table}/{path}"));
                action["add"]["size"] = json!(sizes.get(&file).ok_or("a file that is not there")?);
                let mut stats: Value = serde_json::from_str(action["add"]["stats"].as_str().unwrap_or("{}"))?;
                for what in ["minValues", "maxValues", "nullCount"] {
                    if let Some(known) = stats[what].as_object_mut() {
                        known.retain(|column, _| !is_later(&table, column));
                    }
                }
                action["add"]["stats"] = json!(stats.to_string());
            }
            lines.push(action.to_string());
        }
        store.put(&object.location, lines.join("\n").into()).await?;
    }
    Ok(())
}

/// A Parquet file without some of its columns.
fn without(bytes: &Bytes, gone: impl Fn(&str) -> bool) -> Outcome<Vec<u8>> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes.clone())?;
    let fields = reader.schema().fields().iter().enumerate();
    let kept: Vec<usize> = fields.filter(|(_, field)| !gone(field.name())).map(|(at, _)| at).collect();
    let schema: Arc<Schema> = Arc::new(reader.schema().project(&kept)?);
    let mut written = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut written, schema, None)?;
    for batch in reader.build()? {
        let batch: RecordBatch = batch?;
        writer.write(&batch.project(&kept)?)?;
    }
    writer.close()?;
    Ok(written)
}

async fn filled() -> Outcome<World> {
    let world = World::new().await?;
    world.receive(&eventful_run(1, "close", 0, 500), RECEIVED).await?;
    world.receive(&simple_run(2, "close", 60_000, 300), RECEIVED).await?;
    world.round().await?;
    Ok(world)
}

/// A lake of an older version is read as it is; rounds go on in it by themselves, whatever columns it
/// lacks; and a rebuild leaves nothing of its age.
#[tokio::test]
async fn older_lake() -> Outcome {
    let control = filled().await?;
    let young = filled().await?;
    age(&young.lake.store()).await?;
    let old = World::over(young.lake.store())?;
    let sums = "SELECT measure, sum(amount) AS amount FROM draw WHERE window_s = 60 GROUP BY measure ORDER BY measure";
    let known = "SELECT run_id, workflow, outcome, model_calls, input_tokens, duration_ms, cost_usd FROM runs ORDER BY run_id";
    for sql in [sums, known] {
        assert_eq!(old.query(sql).await?, control.query(sql).await?, "{sql}");
    }
    assert_eq!(
        old.value("SELECT count(*) FROM attempts WHERE weight IS NULL AND billed IS NULL").await?,
        json!(5)
    );
    assert_eq!(old.value("SELECT count(*) FROM attempts WHERE weight > 0").await?, json!(0));

    // One run is made anew in the very files in which the other stands as it was.
    for world in [&control, &old] {
        world.receive(&[chat(2, 3, 60_200, 60_300, 40, 5)], RECEIVED + 1_000_000).await?;
        assert_eq!(world.round().await?.runs, 1);
    }
    for sql in [sums, known] {
        assert_eq!(old.query(sql).await?, control.query(sql).await?, "{sql}");
    }
    let told = old.query("SELECT run_id, weight, spans FROM runs ORDER BY run_id").await?;
    assert_eq!(told[0], json!({"run_id": format!("{:032x}", 1)}));
    assert_eq!(told[1]["spans"], json!(3));
    let profiles = "SELECT workflow, grain, metric, n, mean, p95 FROM run_profiles ORDER BY workflow, grain, metric, pool";
    assert_eq!(old.query(profiles).await?, control.query(profiles).await?);

    old.rebuild().await?;
    control.rebuild().await?;
    assert_eq!(everything(&old).await?, everything(&control).await?);
    Ok(())
}

/// T29: a column that only some files hold is null in the others, whichever comes first, in every kind of
/// question.
#[tokio::test]
async fn files_in_either_order() -> Outcome {
    let mut answers = Vec::new();
    for place in 0..2 {
        let world = World::new().await?;
        world.receive(&eventful_run(1, "close", 0, 500), RECEIVED).await?;
        world.receive(&eventful_run(2, "close", 0, 500), RECEIVED).await?;
        // Files are read in the order of their names, which are random: the columns go from the first
        // or from the second.
        let store = world.lake.store();
        let spans = world.lake.table("spans").await?;
        let file = spans.snapshot().await?.files().get(place).cloned().ok_or("two files")?;
        let location = spans.location(&file);
        let rows = spans.read(&file).await?;
        let later = ["input_tokens", "output_tokens", "quality", "attributes"];
        let bytes = without(&store.get(&location).await?.bytes().await?, |column| later.contains(&column))?;
        let ids = rows.first().and_then(|batch| batch.column_by_name("trace_id").cloned()).ok_or("ids")?;
        let whose = arrow::util::display::array_value_to_string(&ids, 0)?;
        let name = location.filename().ok_or("a name")?;
        for log in store.list(Some(&Path::from("spans/_delta_log"))).try_collect::<Vec<_>>().await? {
            let entry = store.get(&log.location).await?.bytes().await?;
            let text = std::str::from_utf8(&entry)?;
            if text.contains(name) {
                let resized =
                    text.replace(&format!("\"size\":{}", file.size), &format!("\"size\":{}", bytes.len()));
                // What is told of columns that are not there would be a lie.
                let told = later
                    .iter()
                    .fold(resized, |text, column| text.replace(&format!("\\\"{column}\\\""), "\\\"gone\\\""));
                store.put(&log.location, told.into()).await?;
            }
        }
        store.put(&location, bytes.into()).await?;
        let world = World::over(store)?;
        let mut told = Vec::new();
        for sql in [
            format!(
                "SELECT count(*), count(input_tokens), count(output_tokens), sum(input_tokens) FROM spans WHERE trace_id = '{whose}'"
            ),
            format!(
                "SELECT count(*), count(input_tokens), count(output_tokens), sum(input_tokens) FROM spans WHERE trace_id <> '{whose}'"
            ),
            "SELECT count(*) FROM spans WHERE input_tokens > 100".to_owned(),
            "SELECT count(*) FROM spans WHERE input_tokens IS NULL".to_owned(),
            "SELECT min(input_tokens), max(input_tokens), avg(output_tokens) FROM spans".to_owned(),
            "SELECT count(*) FROM spans WHERE quality IS NULL AND attributes IS NULL".to_owned(),
        ] {
            told.push(world.query(&sql).await?);
        }
        world.round().await?;
        told.push(
            world
                .query(&format!("SELECT outcome, weight, model_calls FROM runs ORDER BY run_id = '{whose}'"))
                .await?,
        );
        answers.push(told);
    }
    assert_eq!(answers[0], answers[1]);
    assert_eq!(answers[0][0][0].as_object().map(|row| row.values().nth(2).cloned()), Some(Some(json!(0))));
    Ok(())
}

/// A lake of a newer version is read, as far as it is known; what is received goes in; and a round refuses
/// before it has changed anything, with what to do.
#[tokio::test]
async fn newer_lake() -> Outcome {
    let newer = filled().await?;
    let store = newer.lake.store();
    let known = |table: &str, column: &str| {
        (table, column) != ("spans", "tool_call_id") && (table, column) != ("runs", "parked")
    };
    let older = World::described(Arc::clone(&store), schemas(known)?)?;
    let tokens = "SELECT run_id, input_tokens, model_calls FROM runs ORDER BY run_id";
    assert_eq!(older.query(tokens).await?, newer.query(tokens).await?);
    assert!(older.query("SELECT parked FROM runs").await.is_err());
    older.receive(&simple_run(3, "close", 90_000, 10), RECEIVED).await?;
    let before = store.list(None).try_collect::<Vec<_>>().await?.len();
    let refused = older.round().await.err().ok_or("an older version must not rewrite a newer lake")?;
    let refused = refused.downcast::<ProfileError>()?;
    assert!(matches!(*refused, ProfileError::Newer { .. }), "{refused}");
    assert!(
        refused.to_string().contains("newer version") && refused.to_string().contains("upgrade"),
        "{refused}"
    );
    assert_eq!(store.list(None).try_collect::<Vec<_>>().await?.len(), before);
    assert_eq!(newer.round().await?.runs, 1);
    assert_eq!(older.value("SELECT count(*) FROM runs").await?, json!(3));
    Ok(())
}

/// A table that no longer fits, because a column has another type now, is told with what to do.
#[tokio::test]
async fn misfit() -> Outcome {
    let world = filled().await?;
    let store = world.lake.store();
    let first = Path::from("call_profiles/_delta_log/00000000000000000000.json");
    let entry = store.get(&first).await?.bytes().await?;
    let n = r#"\"name\":\"n\",\"type\":\"long\""#;
    let text = std::str::from_utf8(&entry)?;
    assert!(text.contains(n), "{text}");
    store.put(&first, text.replace(n, &n.replace("long", "string")).into()).await?;
    let world = World::over(store)?;
    world.receive(&simple_run(3, "close", 90_000, 10), RECEIVED).await?;
    let told = world.round().await.err().ok_or("a table that does not fit")?.to_string();
    for word in ["call_profiles", "column n", "remove its folder", "plimsoll profile --rebuild"] {
        assert!(told.contains(word), "{told}");
    }
    Ok(())
}
