//! Spans a second and core through the decode boundary: a batch as exporters send it (512 spans, 20
//! attributes each, of which 12 have a column), in both encodings.
//!
//! `cargo bench -p plimsoll-otlp`; the column "items" is spans.
#![expect(clippy::unwrap_used, reason = "a bench without its files has nothing to measure")]

use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{
    AnyValue, ArrayValue, InstrumentationScope, KeyValue, any_value::Value,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use plimsoll_otlp::{Decoder, Dialects, Encoding, Receipt};
use prost::Message;

#[path = "../tests/it/files.rs"]
mod files;

const SPANS: u64 = 512;

/// Dialects that recognising is measured on.
const DIALECTS: [&str; 4] = ["otel-genai", "openinference", "langfuse", "http"];

fn main() {
    divan::main();
}

#[divan::bench]
fn protobuf(bencher: Bencher<'_, '_>) {
    run(bencher, &batch().encode_to_vec(), Encoding::Protobuf);
}

#[divan::bench]
fn json(bencher: Bencher<'_, '_>) {
    run(bencher, &serde_json::to_vec(&batch()).unwrap(), Encoding::Json);
}

/// What recognising a span costs, by dialect, with all of the repository's files loaded; what it costs to
/// walk over the same bytes is `walk`, to be taken off.
#[divan::bench(args = DIALECTS)]
fn recognise(bencher: Bencher<'_, '_>, dialect: &str) {
    over(bencher, &decoder(), dialect);
}

/// The same with no dialect at all.
#[divan::bench(args = DIALECTS)]
fn walk(bencher: Bencher<'_, '_>, dialect: &str) {
    let nothing = Dialects::load([]).unwrap();
    over(
        bencher,
        &Decoder::new(nothing, files::schema("spans"), files::schema("quarantine")).unwrap(),
        dialect,
    );
}

fn over(bencher: Bencher<'_, '_>, decoder: &Decoder, dialect: &str) {
    let body = spoken(dialect).encode_to_vec();
    bencher.counter(ItemsCount::new(SPANS)).bench(|| decoder.recognise(&body).unwrap());
}

/// What it is measured against: the structs that prost makes, before any column.
#[divan::bench]
fn prost_alone(bencher: Bencher<'_, '_>) {
    let body = batch().encode_to_vec();
    bencher
        .counter(ItemsCount::new(SPANS))
        .counter(BytesCount::new(body.len()))
        .bench(|| ExportTraceServiceRequest::decode(body.as_slice()).unwrap());
}

fn run(bencher: Bencher<'_, '_>, body: &[u8], encoding: Encoding) {
    let decoder = decoder();
    let receipt = Receipt { received_unix_micros: 1_700_049_600_000_000, source: "otlp http" };
    bencher
        .counter(ItemsCount::new(SPANS))
        .counter(BytesCount::new(body.len()))
        .bench(|| decoder.decode(body, encoding, &receipt).unwrap());
}

/// The batch as another dialect tells it; `http` are spans that are no calls.
fn spoken(dialect: &str) -> ExportTraceServiceRequest {
    let mut batch = batch();
    let scope_spans = &mut batch.resource_spans[0].scope_spans[0];
    let scope = |name: &str| InstrumentationScope { name: name.to_owned(), ..Default::default() };
    let text = |key: &str, value: &str| (key.to_owned(), Value::StringValue(value.to_owned()));
    let count = |key: &str, value: i64| (key.to_owned(), Value::IntValue(value));
    let usage = r#"{"prompt_tokens":6000,"completion_tokens":600,"total_tokens":6600,
        "prompt_tokens_details":{"cached_tokens":4000},"completion_tokens_details":{"reasoning_tokens":64}}"#;
    let (name, attributes) = match dialect {
        "openinference" => (
            "openinference.instrumentation.openai",
            vec![
                text("openinference.span.kind", "LLM"),
                text("llm.model_name", "gpt-5.2-2026-08-07"),
                text("llm.provider", "openai"),
                text("llm.invocation_parameters", r#"{"model":"gpt-5.2","max_tokens":4096}"#),
                count("llm.token_count.prompt", 6000),
                count("llm.token_count.completion", 600),
                count("llm.token_count.prompt_details.cache_read", 4000),
                text("llm.input_messages.0.message.role", "user"),
                text("llm.input_messages.0.message.content", "reconcile the batch"),
                text("metadata", r#"{"langgraph_node":"agent","thread_id":"t-1"}"#),
            ],
        ),
        "langfuse" => (
            "langfuse-sdk",
            vec![
                text("langfuse.observation.type", "generation"),
                text("langfuse.observation.model.name", "gpt-5.2-2026-08-07"),
                text("langfuse.observation.usage_details", usage),
                text("langfuse.trace.name", "invoice-reconciliation"),
                text("langfuse.observation.input", "reconcile the batch"),
                text("session.id", "s-1"),
            ],
        ),
        "http" => (
            "@opentelemetry/instrumentation-http",
            vec![
                text("http.request.method", "POST"),
                count("http.response.status_code", 200),
                text("server.address", "api.example.com"),
                text("url.full", "https://api.example.com/v1/x"),
                text("network.protocol.version", "1.1"),
            ],
        ),
        _ => return batch,
    };
    scope_spans.scope = Some(scope(name));
    for span in &mut scope_spans.spans {
        let pair = |(key, value): (String, Value)| KeyValue {
            key,
            value: Some(AnyValue { value: Some(value) }),
            ..KeyValue::default()
        };
        span.attributes = attributes.iter().cloned().map(pair).collect();
    }
    batch
}

/// Model calls of some runs, as a GenAI instrumentation and an application of ours describe them.
fn batch() -> ExportTraceServiceRequest {
    let attribute = |key: &str, value: Value| KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { value: Some(value) }),
        ..KeyValue::default()
    };
    let text = |text: &str| Value::StringValue(text.to_owned());
    let spans = (0..SPANS).map(|index| {
        let count = i64::try_from(index).unwrap();
        let reasons = ArrayValue { values: vec![AnyValue { value: Some(text("stop")) }] };
        Span {
            trace_id: [(index / 9 + 1).to_be_bytes(), index.to_be_bytes()].concat(),
            span_id: (index + 1).to_be_bytes().to_vec(),
            parent_span_id: (index + 7).to_be_bytes().to_vec(),
            name: "chat gpt-5.2".to_owned(),
            kind: 3,
            start_time_unix_nano: 1_700_000_000_000_000_000 + index * 1_000_000,
            end_time_unix_nano: 1_700_000_003_000_000_000 + index * 1_000_000,
            attributes: vec![
                attribute("gen_ai.operation.name", text("chat")),
                attribute("gen_ai.provider.name", text("azure.ai.openai")),
                attribute("gen_ai.request.model", text("gpt52-finance")),
                attribute("gen_ai.response.model", text("gpt-5.2-2026-08-07")),
                attribute("gen_ai.response.id", text(&format!("chatcmpl-83bb062f945d3233b97a{index:04}"))),
                attribute("gen_ai.request.max_tokens", Value::IntValue(4096)),
                attribute("gen_ai.usage.input_tokens", Value::IntValue(6000 + count)),
                attribute("gen_ai.usage.output_tokens", Value::IntValue(600 + count)),
                attribute("gen_ai.usage.cache_read.input_tokens", Value::IntValue(4000)),
                attribute("gen_ai.usage.cache_creation.input_tokens", Value::IntValue(0)),
                attribute("gen_ai.response.time_to_first_chunk", Value::DoubleValue(0.75)),
                attribute("gen_ai.response.finish_reasons", Value::ArrayValue(reasons)),
                attribute("server.address", text("acme-finance.openai.azure.com")),
                attribute("server.port", Value::IntValue(443)),
                attribute("gen_ai.request.temperature", Value::DoubleValue(0.2)),
                attribute("gen_ai.output.type", text("json")),
                attribute("openai.response.service_tier", text("default")),
                attribute("app.batch", text(&format!("B-{index}"))),
                attribute("app.step.index", Value::IntValue(count % 9)),
                attribute("app.cost.center", text("finance-emea-reconciliation")),
            ],
            ..Span::default()
        }
    });
    let resource = Resource {
        attributes: vec![
            attribute("service.name", text("finance-agents")),
            attribute("service.version", text("1.4.2")),
            attribute("deployment.environment.name", text("prod")),
            attribute("telemetry.sdk.name", text("opentelemetry")),
            attribute("host.name", text("worker-7")),
        ],
        ..Resource::default()
    };
    let scope = InstrumentationScope {
        name: "opentelemetry.instrumentation.genai.openai".to_owned(),
        version: "1.3b0".to_owned(),
        ..Default::default()
    };
    let scope_spans = vec![ScopeSpans { scope: Some(scope), spans: spans.collect(), ..Default::default() }];
    ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans { resource: Some(resource), scope_spans, ..Default::default() }],
    }
}

fn decoder() -> Decoder {
    let dialects = Dialects::load(files::dialect_files()).unwrap();
    Decoder::new(dialects, files::schema("spans"), files::schema("quarantine")).unwrap()
}
