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
