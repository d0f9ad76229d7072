//! What metering costs in SQL: `cargo bench -p plimsoll-profile --bench meter`. One core, one batch of attempts as
//! tables hold them; the goal is 30 ns an attempt at the median, for both draws and dollars.
//!
//! `sorted` is a batch of `attempts` as it is stored, by pool and start; `mixed` one in which the pool changes every
//! third attempt, as runs have them. Items are attempts.

use std::{error::Error, path::Path, sync::Arc};

use arrow::{
    array::{ArrayRef, BooleanArray, Int64Array, StringArray, TimestampMicrosecondArray},
    datatypes::{DataType, Field},
};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF};
use divan::{Bencher, black_box, counter::ItemsCount};
use jiff::{SignedDuration, tz::TimeZone};
use plimsoll_assembly::naming::Rules;
use plimsoll_catalog::Catalog;
use plimsoll_lake::{Lake, Schemas};
use plimsoll_profile::{Limits, Policy, Reader, SessionFactory, SqlFiles};

fn main() {
    divan::main();
}

/// Rows that the engine hands to a function at once.
const BATCH: usize = 8_192;
const POOLS: [&str; 4] = [
    "anthropic/direct/global/claude-haiku-4.5",
    "aws.bedrock/runtime/geo/claude-haiku-4.5",
    "azure.ai.openai/provisioned/datazone/gpt-5.2",
    "azure.ai.openai/standard/datazone/gpt-5-mini",
];
/// 2026-09-01T00:00:00Z.
const FIRST: i64 = 1_788_220_800_000_000;

#[divan::bench(args = [false, true])]
fn meter(bencher: Bencher<'_, '_>, mixed: bool) {
    match function() {
        Ok(function) => bencher
            .counter(ItemsCount::new(BATCH))
            .with_inputs(|| arguments(mixed))
            .bench_local_values(|arguments| black_box(function.invoke_with_args(arguments).is_ok())),
        Err(error) => eprintln!("nothing is measured: {error}"),
    }
}

/// The function, as sessions have it.
fn function() -> Result<Arc<ScalarUDF>, Box<dyn Error>> {
    let tokio = tokio::runtime::Builder::new_current_thread().build()?;
    let policy = Policy::new(
        Catalog::load(texts("providers")?)?,
        &Rules::default(),
        TimeZone::UTC,
        SignedDuration::from_hours(6),
    )?;
    let factory = SessionFactory::new(policy, SqlFiles::embedded(), Limits::default());
    let reader = tokio.block_on(async {
        let lake = Lake::open("memory://", Arc::new(Schemas::load(texts("tables")?)?)).await?;
        Ok::<_, Box<dyn Error>>(Reader::pinned(&lake, &factory).await?)
    })?;
    let state = reader.context().state();
    Ok(Arc::clone(state.scalar_functions().get("meter").ok_or("there is no function `meter`")?))
}

/// The files of a folder of `schemas`.
fn texts(folder: &str) -> Result<Vec<(String, String)>, Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas").join(folder);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if let (Some("toml"), Some(name)) = (
            path.extension().and_then(|ending| ending.to_str()),
            path.file_name().and_then(|name| name.to_str()),
        ) {
            files.push((name.to_owned(), std::fs::read_to_string(&path)?));
        }
    }
    files.sort();
    Ok(files)
}

/// A batch of attempts: every tenth refused, a quarter without `max_tokens`.
fn arguments(mixed: bool) -> ScalarFunctionArgs {
    let pool = |row: usize| POOLS[if mixed { row / 3 % 4 } else { row * 4 / BATCH }];
    let start = |row: usize| FIRST + row as i64 * 10_000_000;
    let refused = |row: usize| row.is_multiple_of(10);
    let count = |of: fn(i64) -> Option<i64>| -> ArrayRef {
        let counts = (0..BATCH).map(|row| if refused(row) { None } else { of(row as i64) });
        Arc::new(counts.collect::<Int64Array>())
    };
    let arrays: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from_iter_values((0..BATCH).map(pool))),
        Arc::new(TimestampMicrosecondArray::from_iter_values((0..BATCH).map(start)).with_timezone("UTC")),
        Arc::new((0..BATCH).map(|_| None::<&str>).collect::<StringArray>()),
        Arc::new((0..BATCH).map(|row| Some(refused(row))).collect::<BooleanArray>()),
        Arc::new((0..BATCH).map(|row| Some(!refused(row))).collect::<BooleanArray>()),
        count(|row| Some(5_000 + row % 77 * 13)),
        count(|row| Some(900 + row % 77 * 13)),
        count(|_| Some(4_096)),
        count(|_| Some(4)),
        count(|_| None),
        count(|row| Some(40 + row % 900)),
        count(|_| None),
        count(|_| None),
        count(|row| (row % 4 > 0).then_some(4_096)),
    ];
    let fields = arrays.iter().map(|array| Arc::new(Field::new("argument", array.data_type().clone(), true)));
    ScalarFunctionArgs {
        arg_fields: fields.collect(),
        args: arrays.into_iter().map(ColumnarValue::Array).collect(),
        number_rows: BATCH,
        return_field: Arc::new(Field::new("drawn", DataType::Null, true)),
        config_options: Arc::default(),
    }
}
