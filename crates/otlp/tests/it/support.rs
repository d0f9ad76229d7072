//! Decoders, requests to send, and rows to look at.

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Float64Type, Int32Type, Int64Type};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{
    AnyValue, ArrayValue, InstrumentationScope, KeyValue, any_value,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use plimsoll_otlp::{DecodeError, Decoded, Decoder, Dialects, Encoding, Receipt};
use prost::Message;

use crate::files::{dialect_files, repository, schema};

/// The start of a test's spans: 14 November 2023.
pub(crate) const START: u64 = 1_700_000_000_000_000_000;

/// The folder of shared facts and captures; none where it isn't there.
#[expect(clippy::print_stdout, reason = "a test that is skipped says so")]
pub(crate) fn shared(path: &str) -> Option<PathBuf> {
    let folder =
        std::env::var_os("PLIMSOLL_SHARED").map_or_else(|| repository().join("../shared"), PathBuf::from);
    let found = folder.join(path);
    if found.exists() {
        return Some(found);
    }
    println!("skipped: no {}", found.display());
    None
}

/// The repository's dialects, read once.
static DECODER: LazyLock<Decoder> = LazyLock::new(|| decoder_with(&[]));

/// A decoder with more dialect files after the repository's.
pub(crate) fn decoder_with(more: &[(&str, &str)]) -> Decoder {
    let more = more.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    let dialects = Dialects::load(dialect_files().into_iter().chain(more)).unwrap();
    Decoder::new(dialects, schema("spans"), schema("quarantine")).unwrap()
}

/// Decodes as received at noon on 15 November 2023.
pub(crate) fn try_decode(body: &[u8], encoding: Encoding) -> Result<Decoded, DecodeError> {
    let receipt = Receipt { received_unix_micros: 1_700_049_600_000_000, source: "test" };
    DECODER.decode(body, encoding, &receipt)
}

pub(crate) fn decode(request: &ExportTraceServiceRequest) -> Decoded {
    try_decode(&request.encode_to_vec(), Encoding::Protobuf).unwrap()
}

/// Decodes logs as received at the same time.
pub(crate) fn try_decode_logs(body: &[u8], encoding: Encoding) -> Result<Decoded, DecodeError> {
    let receipt = Receipt { received_unix_micros: 1_700_049_600_000_000, source: "test" };
    DECODER.decode_logs(body, encoding, &receipt)
}

/// The row of one span with these attributes.
pub(crate) fn row(attributes: Vec<KeyValue>) -> Row {
    row_of(span(attributes), "test.scope", "1.0")
}

/// The row of one span of a scope.
pub(crate) fn row_of(span: Span, scope: &str, version: &str) -> Row {
    let decoded = decode(&request(vec![span], scope, version));
    assert_eq!(decoded.spans.num_rows(), 1, "{:?}", decoded.message);
    Row { batch: decoded.spans, index: 0 }
}

pub(crate) fn span(attributes: Vec<KeyValue>) -> Span {
    Span {
        trace_id: vec![0x5b; 16],
        span_id: vec![0xee; 8],
        name: "a span".to_owned(),
        kind: 3,
        start_time_unix_nano: START,
        end_time_unix_nano: START + 2_000_000_000,
        attributes,
        ..Span::default()
    }
}

pub(crate) fn request(spans: Vec<Span>, scope: &str, version: &str) -> ExportTraceServiceRequest {
    let scope =
        InstrumentationScope { name: scope.to_owned(), version: version.to_owned(), ..Default::default() };
    let resource = Resource {
        attributes: vec![
            attribute("service.name", "finance-agents"),
            attribute("deployment.environment.name", "prod"),
            attribute("telemetry.sdk.name", "opentelemetry"),
            attribute("host.name", "a-host"),
        ],
        ..Default::default()
    };
    let scope_spans = vec![ScopeSpans { scope: Some(scope), spans, ..Default::default() }];
    let resource_spans = ResourceSpans { resource: Some(resource), scope_spans, ..Default::default() };
    ExportTraceServiceRequest { resource_spans: vec![resource_spans] }
}

/// Anything that an attribute may hold.
pub(crate) struct Any(pub(crate) any_value::Value);

impl From<&str> for Any {
    fn from(text: &str) -> Self {
        Self(any_value::Value::StringValue(text.to_owned()))
    }
}

impl From<i64> for Any {
    fn from(value: i64) -> Self {
        Self(any_value::Value::IntValue(value))
    }
}

impl From<f64> for Any {
    fn from(value: f64) -> Self {
        Self(any_value::Value::DoubleValue(value))
    }
}

impl From<bool> for Any {
    fn from(value: bool) -> Self {
        Self(any_value::Value::BoolValue(value))
    }
}

impl From<&[&str]> for Any {
    fn from(texts: &[&str]) -> Self {
        let values = texts.iter().map(|text| AnyValue { value: Some(Any::from(*text).0) }).collect();
        Self(any_value::Value::ArrayValue(ArrayValue { values }))
    }
}

pub(crate) fn attribute(key: &str, value: impl Into<Any>) -> KeyValue {
    let value = Some(AnyValue { value: Some(value.into().0) });
    KeyValue { key: key.to_owned(), value, ..Default::default() }
}

/// One row of a batch.
pub(crate) struct Row {
    pub(crate) batch: RecordBatch,
    pub(crate) index: usize,
}

impl Row {
    fn column(&self, name: &str) -> Option<&Arc<dyn Array>> {
        let column = self.batch.column_by_name(name).unwrap();
        column.is_valid(self.index).then_some(column)
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        Some(self.column(name)?.as_string::<i32>().value(self.index))
    }

    pub(crate) fn int(&self, name: &str) -> Option<i64> {
        let column = self.column(name)?;
        match column.data_type() {
            DataType::Int32 => Some(column.as_primitive::<Int32Type>().value(self.index).into()),
            _ => Some(column.as_primitive::<Int64Type>().value(self.index)),
        }
    }

    pub(crate) fn float(&self, name: &str) -> Option<f64> {
        Some(self.column(name)?.as_primitive::<Float64Type>().value(self.index))
    }

    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        Some(self.column(name)?.as_boolean().value(self.index))
    }

    /// The codes of the column `quality`.
    pub(crate) fn quality(&self) -> Vec<String> {
        let Some(column) = self.column("quality") else { return Vec::new() };
        let codes = column.as_list::<i32>().value(self.index);
        codes.as_string::<i32>().iter().flatten().map(str::to_owned).collect()
    }

    /// A value of the map of attributes.
    pub(crate) fn attribute(&self, key: &str) -> Option<String> {
        self.attributes().into_iter().find(|(known, _)| known == key).map(|(_, value)| value)
    }

    pub(crate) fn attributes(&self) -> Vec<(String, String)> {
        let entries = self.column("attributes").unwrap().as_map().value(self.index);
        let keys = entries.column(0).as_string::<i32>();
        let values = entries.column(1).as_string::<i32>();
        keys.iter().flatten().map(str::to_owned).zip(values.iter().flatten().map(str::to_owned)).collect()
    }
}

/// The rows of a batch.
pub(crate) fn rows(batch: &RecordBatch) -> impl Iterator<Item = Row> {
    (0..batch.num_rows()).map(|index| Row { batch: batch.clone(), index })
}
