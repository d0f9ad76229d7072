//! How many spans a second become a Parquet file, on one core and without a disk.
//!
//! The batch is a flush as `serve` makes it: 65,536 spans of agent runs in the columns of `spans`, ten
//! spans a trace, three of ten of them model calls, six attributes each; most optional columns null.

#![expect(clippy::expect_used, reason = "a benchmark that cannot be set up has nothing to measure")]

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Float64Array, Int32Array, Int64Array, ListBuilder, MapBuilder,
    MapFieldNames, RecordBatch, StringArray, StringBuilder, TimestampMicrosecondArray, new_null_array,
};
use arrow::datatypes::{DataType, Field};
use divan::Bencher;
use divan::counter::ItemsCount;
use plimsoll_lake::{Lake, Order, Schemas, Table, TableSchema};

const SPANS: usize = 65_536;
const DAY: i32 = 20_786;
const START: i64 = 1_795_910_400_000_000_000;

fn main() {
    divan::main();
}

#[expect(clippy::print_stdout, reason = "the size belongs to the result")]
#[divan::bench(args = ["as it comes", "sorted"], sample_count = 10)]
fn write_spans(bencher: Bencher<'_, '_>, order: &str) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let table = runtime.block_on(spans());
    let batch = [flush(table.schema())];
    let order = if order == "sorted" { Order::Sorted } else { Order::AsIs };
    let files = runtime.block_on(table.write(&batch, order)).expect("rows that fit");
    let bytes: u64 = files.iter().map(|file| file.size).sum();
    println!("{} bytes a span", bytes / SPANS as u64);
    bencher
        .counter(ItemsCount::new(SPANS))
        .bench_local(|| runtime.block_on(table.write(&batch, order)).expect("rows that fit"));
}

async fn spans() -> Table {
    let text = include_str!("../../../schemas/tables/spans.toml");
    let schemas = Schemas::load([("spans.toml".to_owned(), text.to_owned())]).expect("it is ours");
    let lake = Lake::open("memory://", Arc::new(schemas)).await.expect("memory");
    lake.table("spans").await.expect("a table")
}

/// The `n`th number without a pattern.
fn hash(n: usize) -> u64 {
    let mut z = (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn is_model_call(row: usize) -> bool {
    row % 10 < 3
}

fn text(value: impl Fn(usize) -> Option<String>) -> ArrayRef {
    Arc::new((0..SPANS).map(value).collect::<StringArray>())
}

fn one_of(values: &'static [&'static str]) -> ArrayRef {
    text(|row| values.get(hash(row) as usize % values.len()).map(|v| (*v).to_owned()))
}

fn of_calls(values: &'static [&'static str]) -> ArrayRef {
    text(|row| {
        let value = values.get(hash(row) as usize % values.len());
        value.filter(|_| is_model_call(row)).map(|v| (*v).to_owned())
    })
}

fn tokens(most: u64) -> ArrayRef {
    let value = |row| is_model_call(row).then(|| (hash(row) % most).cast_signed());
    Arc::new((0..SPANS).map(value).collect::<Int64Array>())
}

fn start(row: usize) -> i64 {
    START + (row as i64) * 300_000 + (hash(row) % 1_000_000_000).cast_signed()
}

fn column(name: &str, data_type: &DataType) -> ArrayRef {
    match name {
        "trace_id" => text(|row| Some(format!("{:016x}{:016x}", hash(row / 10), hash(row / 10 + 7)))),
        "span_id" => text(|row| Some(format!("{:016x}", hash(row + 1_000_000)))),
        "parent_span_id" => {
            text(|row| (row % 10 > 0).then(|| format!("{:016x}", hash(row / 10 * 10 + 1_000_000))))
        }
        "kind" => one_of(&["model_call", "tool_call", "step", "request"]),
        "name" => one_of(&["chat gpt-5.2", "execute_tool search", "invoke_agent", "POST", "step"]),
        "service" => one_of(&["support-copilot", "invoice-agent", "crm"]),
        "status" => one_of(&["ok", "unset", "error"]),
        "provider" => of_calls(&["openai", "anthropic", "aws.bedrock"]),
        "endpoint" => of_calls(&["api.openai.com", "api.anthropic.com"]),
        "model" | "response_model" => of_calls(&["gpt-5.2", "claude-sonnet-4-5", "nova-lite"]),
        "operation" => of_calls(&["chat", "embeddings"]),
        "workflow" => one_of(&["support", "invoice-reconciliation", "crm-enrichment", "evals"]),
        "step" => one_of(&["plan", "lookup", "post", "check", "answer"]),
        "tenant" => one_of(&["acme", "umbrella", "initech"]),
        "scope" => one_of(&["opentelemetry.instrumentation.openai", "app"]),
        "scope_version" | "dialect" | "source" => one_of(&["1.2.3"]),
        "session_id" => text(|row| Some(format!("{:016x}", hash(row / 100)))),
        "response_id" => text(|row| is_model_call(row).then(|| format!("chatcmpl-{:016x}", hash(row)))),
        "input_basis" => of_calls(&["inclusive: openai"]),
        "finish_reason" => of_calls(&["stop", "tool_calls"]),
        "input_tokens" | "input_uncached" | "cache_read" => tokens(8_000),
        "output_tokens" | "reasoning_tokens" | "max_output_tokens" => tokens(700),
        "start_unix_nano" => Arc::new((0..SPANS).map(start).collect::<Int64Array>()),
        "start_time" | "received_at" => {
            let column = (0..SPANS).map(|row| start(row) / 1_000);
            Arc::new(TimestampMicrosecondArray::from_iter_values(column).with_timezone("UTC"))
        }
        "duration_ms" => {
            let column = (0..SPANS).map(|row| (hash(row) % 5_000_000) as f64 / 1_000.0);
            Arc::new(Float64Array::from_iter_values(column))
        }
        "weight" => Arc::new(Float64Array::from_iter_values((0..SPANS).map(|_| 1.0))),
        "http_status" => {
            Arc::new((0..SPANS).map(|row| is_model_call(row).then_some(200)).collect::<Int32Array>())
        }
        "streaming" => {
            Arc::new((0..SPANS).map(|row| is_model_call(row).then_some(true)).collect::<BooleanArray>())
        }
        "received_day" => Arc::new(Date32Array::from_value(DAY, SPANS)),
        "quality" => {
            let mut lists = ListBuilder::new(StringBuilder::new()).with_field(Field::new(
                "element",
                DataType::Utf8,
                true,
            ));
            for _ in 0..SPANS {
                lists.append(true);
            }
            Arc::new(lists.finish())
        }
        "attributes" => attributes(),
        _ => new_null_array(data_type, SPANS),
    }
}

fn attributes() -> ArrayRef {
    let names =
        MapFieldNames { entry: "key_value".to_owned(), key: "key".to_owned(), value: "value".to_owned() };
    let mut maps = MapBuilder::new(Some(names), StringBuilder::new(), StringBuilder::new());
    for row in 0..SPANS {
        for key in ["host.name", "k8s.pod.name", "thread.id", "code.function", "url.path", "peer"] {
            maps.keys().append_value(key);
            maps.values().append_value(format!("{key}-{}", hash(row) % 50));
        }
        maps.append(true).expect("as many keys as values");
    }
    Arc::new(maps.finish())
}

fn flush(schema: &TableSchema) -> RecordBatch {
    let arrow = schema.arrow();
    let columns = arrow.fields().iter().map(|field| column(field.name(), field.data_type()));
    RecordBatch::try_new(Arc::clone(&arrow), columns.collect()).expect("the columns of spans")
}
