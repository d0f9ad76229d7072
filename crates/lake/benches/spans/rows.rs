//! Spans as a flush holds them, for the benchmarks.

#![expect(clippy::expect_used, reason = "a benchmark that cannot be set up has nothing to measure")]

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Float64Array, Int32Array, Int64Array, ListBuilder, MapBuilder,
    MapFieldNames, RecordBatch, StringArray, StringBuilder, TimestampMicrosecondArray, new_null_array,
};
use arrow::datatypes::{DataType, Field};
use plimsoll_lake::TableSchema;

const DAY: i32 = 20_786;
const START: i64 = 1_795_910_400_000_000_000;

/// Spans of agent runs in the columns of `spans`: ten spans a trace, three of ten of them model calls, six
/// attributes each; most optional columns null. Rows from `from` on, `rows` of them.
pub(crate) fn flush(schema: &TableSchema, from: usize, rows: usize) -> RecordBatch {
    let arrow = schema.arrow();
    let rows = from..from + rows;
    let columns = arrow.fields().iter().map(|field| column(field.name(), field.data_type(), &rows));
    RecordBatch::try_new(Arc::clone(&arrow), columns.collect()).expect("the columns of spans")
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

fn text(rows: &Range<usize>, value: impl Fn(usize) -> Option<String>) -> ArrayRef {
    Arc::new(rows.clone().map(value).collect::<StringArray>())
}

fn one_of(rows: &Range<usize>, values: &'static [&'static str]) -> ArrayRef {
    text(rows, |row| values.get(hash(row) as usize % values.len()).map(|v| (*v).to_owned()))
}

fn of_calls(rows: &Range<usize>, values: &'static [&'static str]) -> ArrayRef {
    text(rows, |row| {
        let value = values.get(hash(row) as usize % values.len());
        value.filter(|_| is_model_call(row)).map(|v| (*v).to_owned())
    })
}

fn tokens(rows: &Range<usize>, most: u64) -> ArrayRef {
    let value = |row| is_model_call(row).then(|| (hash(row) % most).cast_signed());
    Arc::new(rows.clone().map(value).collect::<Int64Array>())
}

fn start(row: usize) -> i64 {
    START + (row as i64) * 300_000 + (hash(row) % 1_000_000_000).cast_signed()
}

fn column(name: &str, data_type: &DataType, rows: &Range<usize>) -> ArrayRef {
    match name {
        "trace_id" => text(rows, |row| Some(format!("{:016x}{:016x}", hash(row / 10), hash(row / 10 + 7)))),
        "span_id" => text(rows, |row| Some(format!("{:016x}", hash(row + 1_000_000)))),
        "parent_span_id" => {
            text(rows, |row| (row % 10 > 0).then(|| format!("{:016x}", hash(row / 10 * 10 + 1_000_000))))
        }
        "kind" => one_of(rows, &["model_call", "tool_call", "step", "request"]),
        "name" => one_of(rows, &["chat gpt-5.2", "execute_tool search", "invoke_agent", "POST", "step"]),
        "service" => one_of(rows, &["support-copilot", "invoice-agent", "crm"]),
        "status" => one_of(rows, &["ok", "unset", "error"]),
        "provider" => of_calls(rows, &["openai", "anthropic", "aws.bedrock"]),
        "endpoint" => of_calls(rows, &["api.openai.com", "api.anthropic.com"]),
        "model" | "response_model" => of_calls(rows, &["gpt-5.2", "claude-sonnet-4-5", "nova-lite"]),
        "operation" => of_calls(rows, &["chat", "embeddings"]),
        "workflow" => one_of(rows, &["support", "invoice-reconciliation", "crm-enrichment", "evals"]),
        "step" => one_of(rows, &["plan", "lookup", "post", "check", "answer"]),
        "tenant" => one_of(rows, &["acme", "umbrella", "initech"]),
        "scope" => one_of(rows, &["opentelemetry.instrumentation.openai", "app"]),
        "scope_version" | "dialect" | "source" => one_of(rows, &["1.2.3"]),
        "session_id" => text(rows, |row| Some(format!("{:016x}", hash(row / 100)))),
        "response_id" => text(rows, |row| is_model_call(row).then(|| format!("chatcmpl-{:016x}", hash(row)))),
        "input_basis" => of_calls(rows, &["inclusive: openai"]),
        "finish_reason" => of_calls(rows, &["stop", "tool_calls"]),
        "input_tokens" | "input_uncached" | "cache_read" => tokens(rows, 8_000),
        "output_tokens" | "reasoning_tokens" | "max_output_tokens" => tokens(rows, 700),
        "start_unix_nano" => Arc::new(rows.clone().map(start).collect::<Int64Array>()),
        "start_time" | "received_at" => {
            let column = rows.clone().map(|row| start(row) / 1_000);
            Arc::new(TimestampMicrosecondArray::from_iter_values(column).with_timezone("UTC"))
        }
        "duration_ms" => {
            let column = rows.clone().map(|row| (hash(row) % 5_000_000) as f64 / 1_000.0);
            Arc::new(Float64Array::from_iter_values(column))
        }
        "weight" => Arc::new(Float64Array::from_iter_values(rows.clone().map(|_| 1.0))),
        "http_status" => {
            Arc::new(rows.clone().map(|row| is_model_call(row).then_some(200)).collect::<Int32Array>())
        }
        "streaming" => {
            Arc::new(rows.clone().map(|row| is_model_call(row).then_some(true)).collect::<BooleanArray>())
        }
        "received_day" => Arc::new(Date32Array::from_value(DAY, rows.len())),
        "quality" => {
            let mut lists = ListBuilder::new(StringBuilder::new()).with_field(Field::new(
                "element",
                DataType::Utf8,
                true,
            ));
            for _ in rows.clone() {
                lists.append(true);
            }
            Arc::new(lists.finish())
        }
        "attributes" => attributes(rows),
        _ => new_null_array(data_type, rows.len()),
    }
}

fn attributes(rows: &Range<usize>) -> ArrayRef {
    let names =
        MapFieldNames { entry: "key_value".to_owned(), key: "key".to_owned(), value: "value".to_owned() };
    let mut maps = MapBuilder::new(Some(names), StringBuilder::new(), StringBuilder::new());
    for row in rows.clone() {
        for key in ["host.name", "k8s.pod.name", "thread.id", "code.function", "url.path", "peer"] {
            maps.keys().append_value(key);
            maps.values().append_value(format!("{key}-{}", hash(row) % 50));
        }
        maps.append(true).expect("as many keys as values");
    }
    Arc::new(maps.finish())
}
