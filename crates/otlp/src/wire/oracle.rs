//! The walker against prost: what prost reads from a request, the walker reads too.

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{
    AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList, any_value,
};
use opentelemetry_proto::tonic::resource::v1::Resource as ProstResource;
use opentelemetry_proto::tonic::trace::v1::span::{Event as ProstEvent, Link};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span as ProstSpan, Status};
use proptest::collection::vec;
use proptest::prelude::*;
use prost::Message;

use super::{
    Attribute, Event, Malformed, Resource, Span, Value, elements, for_each_resource, read_scope_spans,
};

fn any_value() -> impl Strategy<Value = AnyValue> {
    let leaf = prop_oneof![
        Just(None),
        ".{0,8}".prop_map(|text| Some(any_value::Value::StringValue(text))),
        any::<bool>().prop_map(|flag| Some(any_value::Value::BoolValue(flag))),
        any::<i64>().prop_map(|value| Some(any_value::Value::IntValue(value))),
        any::<f64>().prop_map(|value| Some(any_value::Value::DoubleValue(value))),
        vec(any::<u8>(), 0..8).prop_map(|bytes| Some(any_value::Value::BytesValue(bytes))),
    ]
    .prop_map(|value| AnyValue { value });
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(|values| any_value::Value::ArrayValue(ArrayValue { values })),
            vec(("[a-c]{0,2}", proptest::option::of(inner)), 0..3).prop_map(|pairs| {
                let pair = |(key, value)| KeyValue { key, value, ..Default::default() };
                any_value::Value::KvlistValue(KeyValueList { values: pairs.into_iter().map(pair).collect() })
            }),
        ]
        .prop_map(|value| AnyValue { value: Some(value) })
    })
}

fn attributes() -> impl Strategy<Value = Vec<KeyValue>> {
    let pair = |(key, value)| KeyValue { key, value, ..Default::default() };
    vec((".{0,6}", proptest::option::of(any_value())).prop_map(pair), 0..4)
}

fn span() -> impl Strategy<Value = ProstSpan> {
    let ids = (vec(any::<u8>(), 0..20), vec(any::<u8>(), 0..10), vec(any::<u8>(), 0..10), ".{0,6}");
    let event = (any::<u64>(), ".{0,6}", attributes()).prop_map(|(time_unix_nano, name, attributes)| {
        ProstEvent { time_unix_nano, name, attributes, ..Default::default() }
    });
    (
        ids,
        ".{0,8}",
        0..7_i32,
        any::<(u64, u64, u32)>(),
        attributes(),
        vec(event, 0..3),
        proptest::option::of(0..4_i32),
    )
        .prop_map(
            |(
                (trace_id, span_id, parent_span_id, trace_state),
                name,
                kind,
                (start, end, dropped),
                attributes,
                events,
                code,
            )| ProstSpan {
                trace_id,
                span_id,
                parent_span_id,
                trace_state,
                name,
                kind,
                start_time_unix_nano: start,
                end_time_unix_nano: end,
                attributes,
                dropped_attributes_count: dropped,
                events,
                links: vec![Link::default()],
                status: code.map(|code| Status { code, message: "message".to_owned() }),
                flags: 257,
                ..Default::default()
            },
        )
}

fn request() -> impl Strategy<Value = ExportTraceServiceRequest> {
    let scope = (".{0,6}", ".{0,3}").prop_map(|(name, version)| InstrumentationScope {
        name,
        version,
        ..Default::default()
    });
    let scope_spans = (proptest::option::of(scope), vec(span(), 0..4))
        .prop_map(|(scope, spans)| ScopeSpans { scope, spans, schema_url: "x".to_owned() });
    let resource = attributes().prop_map(|attributes| ProstResource { attributes, ..Default::default() });
    let resource_spans = (proptest::option::of(resource), vec(scope_spans, 0..3))
        .prop_map(|(resource, scope_spans)| ResourceSpans { resource, scope_spans, ..Default::default() });
    vec(resource_spans, 0..3).prop_map(|resource_spans| ExportTraceServiceRequest { resource_spans })
}

/// A value as prost has it; an empty one for what the walker left as bytes and can't be read.
fn value(value: Value<'_>) -> Option<AnyValue> {
    let value = match value {
        Value::Empty => None,
        Value::Text(text) => Some(any_value::Value::StringValue(String::from_utf8_lossy(text).into_owned())),
        Value::Flag(flag) => Some(any_value::Value::BoolValue(flag)),
        Value::Int(value) => Some(any_value::Value::IntValue(value)),
        Value::Double(value) => Some(any_value::Value::DoubleValue(value)),
        Value::Bytes(bytes) => Some(any_value::Value::BytesValue(bytes.to_vec())),
        Value::List(bytes) => {
            let values = elements(bytes).map_while(Result::ok).map(|element| {
                let mut inner = Value::Empty;
                inner.read(element).map_or(AnyValue::default(), |()| self::value(inner).unwrap_or_default())
            });
            Some(any_value::Value::ArrayValue(ArrayValue { values: values.collect() }))
        }
        Value::Map(bytes) => {
            let pairs =
                elements(bytes).map_while(Result::ok).filter_map(|element| Attribute::read(element).ok());
            Some(any_value::Value::KvlistValue(KeyValueList { values: pairs.map(attribute).collect() }))
        }
    };
    Some(AnyValue { value })
}

fn attribute(attribute: Attribute<'_>) -> KeyValue {
    KeyValue {
        key: String::from_utf8_lossy(attribute.key).into_owned(),
        value: value(attribute.value),
        ..Default::default()
    }
}

/// Everything that the walker reads, in prost's structs.
fn walked(body: &[u8]) -> Result<ExportTraceServiceRequest, Malformed> {
    let mut request = ExportTraceServiceRequest::default();
    for_each_resource(body, |resource: &Resource<'_>, scopes| {
        let mut resource_spans = ResourceSpans::default();
        let attributes = resource.attributes.iter().copied().map(attribute).collect();
        resource_spans.resource = Some(ProstResource { attributes, ..Default::default() });
        let (mut bytes, mut span) = (Vec::new(), Span::default());
        for scope in scopes {
            let scope = read_scope_spans(scope, &mut bytes)?;
            let mut scope_spans =
                ScopeSpans { scope: Some(named(scope.name, scope.version)), ..Default::default() };
            for bytes in &bytes {
                span.read(bytes)?;
                scope_spans.spans.push(prost_span(&span)?);
            }
            resource_spans.scope_spans.push(scope_spans);
        }
        request.resource_spans.push(resource_spans);
        Ok::<(), Malformed>(())
    })?;
    Ok(request)
}

fn named(name: &[u8], version: &[u8]) -> InstrumentationScope {
    InstrumentationScope {
        name: String::from_utf8_lossy(name).into_owned(),
        version: String::from_utf8_lossy(version).into_owned(),
        ..Default::default()
    }
}

fn prost_span(span: &Span<'_>) -> Result<ProstSpan, Malformed> {
    let mut events = Vec::new();
    for bytes in &span.events {
        let event = Event::read(bytes)?;
        let mut attributes = Vec::new();
        event.attributes(|each| attributes.push(attribute(each)))?;
        let name = String::from_utf8_lossy(event.name).into_owned();
        events.push(ProstEvent { time_unix_nano: event.time, name, attributes, ..Default::default() });
    }
    Ok(ProstSpan {
        trace_id: span.trace_id.to_vec(),
        span_id: span.span_id.to_vec(),
        parent_span_id: span.parent_span_id.to_vec(),
        trace_state: String::from_utf8_lossy(span.trace_state).into_owned(),
        name: String::from_utf8_lossy(span.name).into_owned(),
        kind: i32::try_from(span.kind).unwrap_or_default(),
        start_time_unix_nano: span.start,
        end_time_unix_nano: span.end,
        attributes: span.attributes.iter().copied().map(attribute).collect(),
        dropped_attributes_count: u32::try_from(span.dropped_attributes).unwrap_or_default(),
        events,
        status: Some(Status { code: i32::try_from(span.status).unwrap_or_default(), message: String::new() }),
        ..Default::default()
    })
}

/// What prost read, without what the walker passes over and with defaults for what is left out.
fn comparable(mut request: ExportTraceServiceRequest) -> ExportTraceServiceRequest {
    for resource_spans in &mut request.resource_spans {
        defaults(&mut resource_spans.resource.get_or_insert_default().attributes);
        for scope_spans in &mut resource_spans.scope_spans {
            scope_spans.schema_url.clear();
            scope_spans.scope.get_or_insert_default();
            for span in &mut scope_spans.spans {
                span.links.clear();
                span.flags = 0;
                span.status.get_or_insert_default().message.clear();
                defaults(&mut span.attributes);
                span.events.iter_mut().for_each(|event| defaults(&mut event.attributes));
            }
        }
    }
    request
}

fn defaults(attributes: &mut [KeyValue]) {
    for attribute in attributes {
        let value = attribute.value.get_or_insert_default();
        if let Some(any_value::Value::KvlistValue(map)) = &mut value.value {
            defaults(&mut map.values);
        }
        if let Some(any_value::Value::ArrayValue(list)) = &mut value.value {
            for element in &mut list.values {
                let mut wrapped = [KeyValue { value: Some(std::mem::take(element)), ..Default::default() }];
                defaults(&mut wrapped);
                let [KeyValue { value, .. }] = wrapped;
                *element = value.unwrap_or_default();
            }
        }
    }
}

/// Compared as text, in which a NaN is like another.
fn text(request: &ExportTraceServiceRequest) -> String {
    format!("{request:?}")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// A request reads the same through both.
    #[test]
    fn same_as_prost(request in request()) {
        let walked = walked(&request.encode_to_vec()).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(text(&walked), text(&comparable(request)));
    }

    /// Messages that stand twice on the wire merge, as protobuf has it: two bodies, one after the other.
    #[test]
    fn bodies_merge(first in request(), second in request()) {
        let body = [first.encode_to_vec(), second.encode_to_vec()].concat();
        let both = ExportTraceServiceRequest::decode(body.as_slice()).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let walked = walked(&body).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(text(&walked), text(&comparable(both)));
    }

    /// Damaged bytes that prost still reads, the walker still reads, with as many spans.
    #[test]
    fn no_stricter_than_prost(request in request(), changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let mut body = request.encode_to_vec();
        for (at, byte) in changes {
            if !body.is_empty() {
                let at = at.index(body.len());
                body[at] = byte;
            }
        }
        if let Ok(read) = ExportTraceServiceRequest::decode(body.as_slice()) {
            let walked = walked(&body).map_err(|error| TestCaseError::fail(error.to_string()))?;
            let spans = |request: &ExportTraceServiceRequest| -> usize {
                request.resource_spans.iter().flat_map(|resource| &resource.scope_spans).map(|scope| scope.spans.len()).sum()
            };
            prop_assert_eq!(spans(&walked), spans(&read));
        }
    }
}
