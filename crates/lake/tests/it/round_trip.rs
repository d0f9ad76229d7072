//! Rows in, rows out: every table, every type, every extreme.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, Decimal256Array, DictionaryArray, Int32Array, Int64Array, ListBuilder,
    RecordBatch, StringArray, StringBuilder, StringViewArray, TimestampNanosecondArray,
};
use arrow::compute::concat_batches;
use arrow::datatypes::{Int32Type, Int64Type, TimestampMicrosecondType};
use plimsoll_lake::{Appended, DataFile, Error, Lake, Order, Schemas, Table, Value};
use proptest::prelude::*;

use crate::fixtures::{Dice, Outcome, as_text, product_schemas, random_rows};

async fn read_all(table: &Table) -> Outcome<Vec<RecordBatch>> {
    let mut batches = Vec::new();
    for file in table.snapshot().await?.files() {
        batches.extend(table.read(file).await?);
    }
    Ok(batches)
}

/// Writes random rows to every table of the product and holds what comes back against them.
async fn every_table(location: &str, seed: u64, order: Order) -> Outcome {
    let lake = Lake::open(location, product_schemas()?).await?;
    let mut dice = Dice(seed);
    for schema in lake.schemas().iter() {
        let rows = 1 + usize::try_from(dice.below(60))?;
        let batches = [random_rows(schema, rows, &mut dice)?, random_rows(schema, rows, &mut dice)?];
        let table = lake.table(&schema.name).await?;
        let files = table.write(&batches, order).await?;
        for file in &files {
            bounds_hold(&table, file).await?;
        }
        let outcome = table.append(files, &[]).await?;
        assert_eq!(outcome, Appended::Committed { version: 1 });
        let snapshot = table.snapshot().await?;
        assert_eq!(snapshot.rows(), 2 * rows as u64, "{}", schema.name);
        let found = read_all(&table).await?;
        assert_eq!(found[0].schema(), schema.arrow(), "{}", schema.name);
        assert_eq!(as_text(&found)?, as_text(&batches)?, "{}", schema.name);
    }
    Ok(())
}

/// Every value of a file lies within the bounds that its statistics give: pruning loses no row.
async fn bounds_hold(table: &Table, file: &DataFile) -> Outcome {
    let batches = table.read(file).await?;
    let rows = concat_batches(&table.schema().arrow(), &batches)?;
    assert_eq!(rows.num_rows() as u64, file.rows);
    for (name, stats) in &file.stats.columns {
        let column = rows.column_by_name(name).ok_or("statistics of no column")?;
        assert_eq!(stats.null_count, Some(column.null_count() as u64), "{name}");
        for row in (0..rows.num_rows()).filter(|row| column.is_valid(*row)) {
            let value = match stats.min.as_ref().or(stats.max.as_ref()) {
                Some(Value::String(_)) => Value::String(column.as_string::<i32>().value(row).to_owned()),
                Some(Value::Timestamp(_)) => {
                    Value::Timestamp(column.as_primitive::<TimestampMicrosecondType>().value(row))
                }
                Some(Value::Int(_)) => Value::Int(match column.as_primitive_opt::<Int32Type>() {
                    Some(ints) => i64::from(ints.value(row)),
                    None => column.as_primitive::<Int64Type>().value(row),
                }),
                _ => continue,
            };
            let within = |bound: &Option<Value>, wrong| {
                bound.as_ref().is_none_or(|bound| value.compare(bound) != Some(wrong))
            };
            assert!(within(&stats.min, std::cmp::Ordering::Less), "{name}: {value:?} {stats:?}");
            assert!(within(&stats.max, std::cmp::Ordering::Greater), "{name}: {value:?} {stats:?}");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever rows a table may hold, it gives back, sorted or not, and its statistics are true.
    #[test]
    fn rows_come_back(seed: u64, sorted: bool) {
        let order = if sorted { Order::Sorted } else { Order::AsIs };
        let outcome = tokio::runtime::Runtime::new().map_err(Into::into)
            .and_then(|runtime| runtime.block_on(every_table("memory://", seed, order)));
        prop_assert!(outcome.is_ok(), "{outcome:?}");
    }
}

/// The same on a disk, read back by a process that starts afresh.
#[tokio::test]
async fn rows_come_back_from_disk() -> Outcome {
    let folder = tempfile::tempdir()?;
    let location = folder.path().join("lake").display().to_string();
    every_table(&location, 7, Order::Sorted).await?;
    let lake = Lake::open(&format!("file://{location}"), product_schemas()?).await?;
    for schema in lake.schemas().iter() {
        let table = lake.existing(&schema.name).await?.ok_or("the table is gone")?;
        let snapshot = table.snapshot().await?;
        assert_eq!(
            (snapshot.version(), as_text(&read_all(&table).await?)?.len() as u64),
            (1, snapshot.rows())
        );
        for file in snapshot.files() {
            bounds_hold(&table, file).await?;
        }
    }
    Ok(())
}

/// Rows of a file that was written sorted are in the table's order.
#[tokio::test]
async fn sorted_files_are_sorted() -> Outcome {
    let lake = Lake::open("memory://", product_schemas()?).await?;
    let table = lake.table("spans").await?;
    let rows = random_rows(table.schema(), 500, &mut Dice(3))?;
    for file in table.write(&[rows], Order::Sorted).await? {
        let rows = concat_batches(&table.schema().arrow(), &table.read(&file).await?)?;
        let ids = rows.column_by_name("trace_id").ok_or("no trace_id")?;
        assert!(ids.as_string::<i32>().iter().is_sorted());
    }
    Ok(())
}

/// Types that an engine gives instead of the table's (views, dictionaries, narrow integers,
/// nanoseconds) become the table's, columns left out become null, columns in any order are found.
#[tokio::test]
async fn other_types_are_cast() -> Outcome {
    let text = r#"
        description = "d"
        columns = [
          { name = "name", type = "string", required = true, doc = "" },
          { name = "other", type = "string", doc = "" },
          { name = "n", type = "bigint", doc = "" },
          { name = "at", type = "timestamp", doc = "" },
          { name = "cost", type = "decimal", doc = "" },
          { name = "codes", type = "list<string>", doc = "" },
        ]"#;
    let schemas = Schemas::load([("casts.toml".to_owned(), text.to_owned())])?;
    let lake = Lake::open("memory://", Arc::new(schemas)).await?;
    let table = lake.table("casts").await?;
    let at = TimestampNanosecondArray::from(vec![1_764_453_163_123_456_789_i64]);
    let name: DictionaryArray<Int32Type> = ["tools"].into_iter().collect();
    let mut codes = ListBuilder::new(StringBuilder::new());
    codes.append_value([Some("late")]);
    let rows = RecordBatch::try_from_iter([
        ("codes", Arc::new(codes.finish()) as ArrayRef),
        ("at", Arc::new(at.with_timezone("UTC")) as ArrayRef),
        ("n", Arc::new(Int32Array::from(vec![7])) as ArrayRef),
        ("cost", Arc::new(Int32Array::from(vec![3])) as ArrayRef),
        ("name", Arc::new(name) as ArrayRef),
    ])?;
    let files = table.write(&[rows], Order::AsIs).await?;
    let found = as_text(&table.read(&files[0]).await?)?;
    assert_eq!(found, ["tools|NULL|7|2025-11-29T21:52:43.123456Z|3.000000000000|[late]"]);

    let views = StringViewArray::from(vec!["a"]);
    let big = Decimal256Array::from(vec![arrow::datatypes::i256::MAX]);
    let rows = RecordBatch::try_from_iter([
        ("name", Arc::new(views) as ArrayRef),
        ("cost", Arc::new(big) as ArrayRef),
    ])?;
    let told = table.write(&[rows], Order::AsIs).await;
    assert!(matches!(&told, Err(Error::Rows { column, .. }) if column == "cost"), "{told:?}");
    Ok(())
}

/// Rows that do not fit are refused with the column's name, not bent.
#[tokio::test]
async fn rows_that_do_not_fit_are_refused() -> Outcome {
    let lake = Lake::open("memory://", product_schemas()?).await?;
    let table = lake.table("snapshots").await?;
    let unknown: ArrayRef = Arc::new(Int32Array::from(vec![1]));
    let text: ArrayRef = Arc::new(StringArray::from(vec!["1"]));
    let none: ArrayRef = Arc::new(Int64Array::from(vec![None]));
    for (name, column) in [("unheard_of", unknown), ("lake_version", text), ("lake_version", none)] {
        let rows = RecordBatch::try_from_iter([(name, column)])?;
        match table.write(&[rows], Order::AsIs).await {
            Err(Error::Rows { table, column, .. }) => {
                assert_eq!((table.as_str(), column.as_str()), ("snapshots", name));
            }
            other => return Err(format!("{name}: {other:?}").into()),
        }
    }
    Ok(())
}
