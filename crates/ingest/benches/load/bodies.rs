//! What the benchmarks share: batches as agents send them, a place to store them, and what it cost.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use plimsoll_lake::{Lake, Schemas};
use plimsoll_otlp::{Decoder, Dialects};
use prost::Message;

/// Spans of a batch, as exporters send them.
pub(crate) const BATCH: usize = 512;
/// Different bodies, so that nothing compresses by being the same.
pub(crate) const BODIES: u64 = 32;

/// A folder on the disk that is measured: `PLIMSOLL_BENCH_DIR`, or the one that the benchmark runs in.
pub(crate) fn folder() -> tempfile::TempDir {
    let parent = std::env::var("PLIMSOLL_BENCH_DIR").unwrap_or_else(|_| ".".to_owned());
    tempfile::tempdir_in(parent).unwrap()
}

/// A lake in a folder, and a decoder for it.
pub(crate) async fn lake(folder: &Path) -> (Lake, Arc<Decoder>) {
    let schemas = Arc::new(Schemas::load(texts("tables")).unwrap());
    let table = |name| schemas.get(name).unwrap().arrow();
    let decoder =
        Decoder::new(Dialects::load(texts("dialects")).unwrap(), table("spans"), table("quarantine"))
            .unwrap();
    let lake = Lake::open(folder.join("lake").to_str().unwrap(), Arc::clone(&schemas)).await.unwrap();
    (lake, Arc::new(decoder))
}

fn texts(folder: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas").join(folder);
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .map(|path| (path.display().to_string(), std::fs::read_to_string(path).unwrap()))
        .collect()
}

/// A batch of model calls of agents.
pub(crate) fn body(seed: u64) -> Vec<u8> {
    let text = |key: &str, value: String| attribute(key, Value::StringValue(value));
    let number = |key: &str, value: u64| attribute(key, Value::IntValue(value.cast_signed()));
    let spans = (0..BATCH as u64).map(|n| {
        let mix = (seed * BATCH as u64 + n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let trace = (seed * 64 + n / 8 + 1).wrapping_mul(0xd6e8_feb8_6659_fd93);
        let start = 1_780_000_000_000_000_000 + mix % 3_600_000_000_000;
        Span {
            trace_id: [trace.to_be_bytes(), (!trace).to_be_bytes()].concat(),
            span_id: mix.to_be_bytes().to_vec(),
            parent_span_id: trace.to_le_bytes().to_vec(),
            name: "chat gpt-5.2".to_owned(),
            kind: 3,
            start_time_unix_nano: start,
            end_time_unix_nano: start + 1_000_000_000 + mix % 5_000_000_000,
            attributes: vec![
                text("gen_ai.operation.name", "chat".to_owned()),
                text("gen_ai.provider.name", "azure.ai.openai".to_owned()),
                text("gen_ai.request.model", "gpt-5.2".to_owned()),
                text("gen_ai.response.model", "gpt-5.2-2026-03-01".to_owned()),
                text("gen_ai.response.id", format!("chatcmpl-{mix:016x}{trace:016x}")),
                number("gen_ai.request.max_tokens", 4096),
                number("gen_ai.usage.input_tokens", 500 + mix % 8000),
                number("gen_ai.usage.cache_read.input_tokens", mix % 500),
                number("gen_ai.usage.output_tokens", mix % 900),
                attribute(
                    "gen_ai.response.time_to_first_chunk",
                    Value::DoubleValue((mix % 900) as f64 / 1000.0),
                ),
                attribute("gen_ai.request.stream", Value::BoolValue(true)),
                text("gen_ai.conversation.id", format!("conversation-{trace:016x}")),
                text("gen_ai.workflow.name", "invoice-reconciliation".to_owned()),
                text("gen_ai.agent.name", format!("agent-{}", mix % 12)),
                text("server.address", "finance.openai.azure.com".to_owned()),
                number("server.port", 443),
                number("http.response.status_code", 200),
                text("plimsoll.tenant", format!("tenant-{}", mix % 40)),
                text("plimsoll.request_class", "interactive".to_owned()),
                text("custom.note", format!("a value that no dialect knows, number {}", mix % 1000)),
            ],
            ..Span::default()
        }
    });
    let scope_spans = vec![ScopeSpans { spans: spans.collect(), ..ScopeSpans::default() }];
    ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans { scope_spans, ..ResourceSpans::default() }],
    }
    .encode_to_vec()
}

fn attribute(key: &str, value: Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}

/// User and system time of this process, from clock ticks of a hundredth of a second.
pub(crate) fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    Duration::from_millis(ticks * 10)
}

/// The largest resident memory so far, in bytes.
pub(crate) fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}
