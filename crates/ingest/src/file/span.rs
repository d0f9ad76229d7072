//! One row of a request trace as one OTLP span: a run that is a single model call.
//!
//! What a value means is the decoder's to judge, as for any other span; here only times are read.
//! Invariant: the same row of the same content always gets the same ids.

use std::collections::BTreeMap;

use jiff::Timestamp;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use plimsoll_rows::{Field, TimeError, TimeUnit, scaled, unix_nanos};
use prost::Message;
use sha2::{Digest, Sha256};

/// What all rows of a file share.
#[derive(Debug)]
pub(super) struct Rows {
    pub(super) digest: [u8; 32],
    pub(super) source: String,
    pub(super) constants: BTreeMap<Field, String>,
    pub(super) start: Option<Timestamp>,
    pub(super) unit: Option<TimeUnit>,
}

/// The values of one row.
pub(super) type Row<'a> = BTreeMap<Field, &'a str>;

/// Attributes of the OpenTelemetry GenAI conventions, and ours, that are the value as it stands.
const ATTRIBUTES: [(Field, &str); 17] = [
    (Field::InputTokens, "gen_ai.usage.input_tokens"),
    (Field::OutputTokens, "gen_ai.usage.output_tokens"),
    (Field::CacheRead, "gen_ai.usage.cache_read.input_tokens"),
    (Field::CacheWrite, "gen_ai.usage.cache_creation.input_tokens"),
    (Field::ReasoningTokens, "gen_ai.usage.reasoning.output_tokens"),
    (Field::MaxOutputTokens, "gen_ai.request.max_tokens"),
    (Field::Model, "gen_ai.request.model"),
    (Field::ResponseModel, "gen_ai.response.model"),
    (Field::Provider, "gen_ai.provider.name"),
    (Field::Region, "plimsoll.region"),
    (Field::Session, "gen_ai.conversation.id"),
    (Field::User, "user.id"),
    (Field::ResponseId, "gen_ai.response.id"),
    (Field::Tenant, "plimsoll.tenant"),
    (Field::RequestClass, "plimsoll.request_class"),
    (Field::Tier, "plimsoll.tier"),
    (Field::QueueWaitMs, "plimsoll.queue_wait_ms"),
];

impl Rows {
    /// The span of a row.
    ///
    /// # Errors
    /// The row has no readable time.
    pub(super) fn span(&self, number: u64, row: &Row<'_>) -> Result<Span, TimeError> {
        let value = |field: Field| {
            let given = row.get(&field).copied().or_else(|| self.constants.get(&field).map(String::as_str));
            given.map(str::trim).filter(|text| !text.is_empty())
        };
        let time = |text: &str| unix_nanos(text, self.unit, self.start);
        let start = time(value(Field::Timestamp).unwrap_or_default())?;
        let length = |field, unit: TimeUnit| value(field).and_then(|text| scaled(text, unit.nanos()));
        let duration = length(Field::DurationMs, TimeUnit::Millis)
            .or_else(|| length(Field::DurationS, TimeUnit::Seconds));
        let end = match (value(Field::EndTime), duration) {
            (Some(text), _) => time(text)?,
            (None, Some(duration)) => start.saturating_add(duration),
            (None, None) => 0,
        };
        let operation = value(Field::Operation).unwrap_or("chat");
        let mut attributes = vec![text("gen_ai.operation.name", operation)];
        attributes.push(text("plimsoll.workflow", value(Field::Workflow).unwrap_or(&self.source)));
        attributes.extend(ATTRIBUTES.iter().filter_map(|(field, name)| Some(scalar(name, value(*field)?))));
        attributes.extend(value(Field::Step).map(|step| text("plimsoll.step", step)));
        let first =
            length(Field::TtftMs, TimeUnit::Millis).or_else(|| length(Field::TtftS, TimeUnit::Seconds));
        attributes.extend(first.map(|nanos| {
            let seconds = nanos as f64 / TimeUnit::Seconds.nanos() as f64;
            attribute("gen_ai.response.time_to_first_chunk", Value::DoubleValue(seconds))
        }));
        let failed = failure(value(Field::Status), value(Field::ErrorType), &mut attributes);
        let (trace_id, span_id) = self.ids(number);
        Ok(Span {
            trace_id,
            span_id,
            name: value(Field::Model)
                .map_or_else(|| operation.to_owned(), |model| format!("{operation} {model}")),
            kind: SpanKind::Client.into(),
            start_time_unix_nano: start,
            end_time_unix_nano: end,
            attributes,
            status: failed.then(|| Status { message: String::new(), code: StatusCode::Error.into() }),
            ..Span::default()
        })
    }

    /// Spans of one service as a request.
    pub(super) fn request(&self, spans: Vec<(Option<String>, Span)>) -> Vec<u8> {
        let mut services: BTreeMap<String, Vec<Span>> = BTreeMap::new();
        for (service, span) in spans {
            services.entry(service.unwrap_or_else(|| self.source.clone())).or_default().push(span);
        }
        let resource_spans = services.into_iter().map(|(service, spans)| ResourceSpans {
            resource: Some(Resource {
                attributes: vec![text("service.name", &service)],
                ..Resource::default()
            }),
            scope_spans: vec![ScopeSpans {
                scope: Some(InstrumentationScope {
                    name: "plimsoll.request_trace".to_owned(),
                    ..InstrumentationScope::default()
                }),
                spans,
                ..ScopeSpans::default()
            }],
            ..ResourceSpans::default()
        });
        ExportTraceServiceRequest { resource_spans: resource_spans.collect() }.encode_to_vec()
    }

    fn ids(&self, number: u64) -> (Vec<u8>, Vec<u8>) {
        let mut hasher = Sha256::new();
        hasher.update(self.digest);
        hasher.update(number.to_be_bytes());
        let hash = hasher.finalize();
        (hash[..16].to_vec(), hash[16..24].to_vec())
    }
}

/// Adds what is known of a failure, and says whether there was one.
fn failure(status: Option<&str>, error: Option<&str>, attributes: &mut Vec<KeyValue>) -> bool {
    let http = status.and_then(|status| status.parse::<i64>().ok());
    attributes.extend(http.map(|status| attribute("http.response.status_code", Value::IntValue(status))));
    attributes.extend(error.map(|error| text("error.type", error)));
    let failed = match (http, status) {
        (Some(status), _) => status >= 400,
        (None, Some(status)) => {
            !["ok", "success", "succeeded", "200"].contains(&status.to_ascii_lowercase().as_str())
        }
        (None, None) => false,
    };
    failed || error.is_some()
}

/// A value in the narrowest type that holds it; what is no number goes as text, for the decoder to judge.
fn scalar(name: &str, value: &str) -> KeyValue {
    let whole = value.strip_suffix(".0").unwrap_or(value);
    match (whole.parse::<i64>(), value.parse::<f64>()) {
        (Ok(number), _) => attribute(name, Value::IntValue(number)),
        (_, Ok(number)) if number.is_finite() => attribute(name, Value::DoubleValue(number)),
        _ => text(name, value),
    }
}

fn text(name: &str, value: &str) -> KeyValue {
    attribute(name, Value::StringValue(value.to_owned()))
}

fn attribute(name: &str, value: Value) -> KeyValue {
    KeyValue { key: name.to_owned(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}
