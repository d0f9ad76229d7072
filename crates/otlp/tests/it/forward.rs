//! Requests that are passed on: what is checked decodes, and what is cut holds the same.

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::{Event, Link};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use plimsoll_otlp::Encoding;
use plimsoll_otlp::forward::{CutError, check_logs, check_traces, cut};
use proptest::collection::vec;
use proptest::prelude::*;
use prost::Message;

use crate::support::{START, try_decode, try_decode_logs};

fn text(key: &str, value: String) -> KeyValue {
    let value = Some(AnyValue { value: Some(Value::StringValue(value)) });
    KeyValue { key: key.to_owned(), value, ..KeyValue::default() }
}

fn scope() -> impl Strategy<Value = Option<InstrumentationScope>> {
    let scope = |(name, version)| InstrumentationScope { name, version, ..Default::default() };
    proptest::option::of(("[a-z.]{0,9}", "[0-9.]{0,4}").prop_map(scope))
}

fn resource() -> impl Strategy<Value = Option<Resource>> {
    let resource = |name| Resource { attributes: vec![text("service.name", name)], ..Default::default() };
    proptest::option::of("[a-z]{0,20}".prop_map(resource))
}

fn span() -> impl Strategy<Value = Span> {
    let ids = (vec(any::<u8>(), 16), vec(any::<u8>(), 8));
    (ids, "[a-z]{0,12}", 0..200_usize, 0..3_usize).prop_map(|((trace_id, span_id), name, size, events)| {
        Span {
            trace_id,
            span_id,
            name,
            start_time_unix_nano: START,
            end_time_unix_nano: START + 1_000_000,
            attributes: vec![text("gen_ai.prompt", "p".repeat(size))],
            events: vec![Event { name: "e".repeat(size / 9), ..Event::default() }; events],
            links: vec![Link { trace_id: vec![1; 16], ..Link::default() }],
            ..Span::default()
        }
    })
}

fn traces() -> impl Strategy<Value = ExportTraceServiceRequest> {
    let scopes = (scope(), vec(span(), 0..8), "[a-z:/]{0,12}")
        .prop_map(|(scope, spans, schema_url)| ScopeSpans { scope, spans, schema_url });
    let resources = (resource(), vec(scopes, 0..4), "[a-z:/]{0,12}")
        .prop_map(|(resource, scope_spans, schema_url)| ResourceSpans { resource, scope_spans, schema_url });
    vec(resources, 0..4).prop_map(|resource_spans| ExportTraceServiceRequest { resource_spans })
}

fn logs() -> impl Strategy<Value = ExportLogsServiceRequest> {
    let record = (0..200_usize, vec(any::<u8>(), 16)).prop_map(|(size, trace_id)| LogRecord {
        time_unix_nano: START,
        trace_id,
        attributes: vec![text("prompt", "p".repeat(size))],
        ..LogRecord::default()
    });
    let scopes = (scope(), vec(record, 0..8), "[a-z:/]{0,12}")
        .prop_map(|(scope, log_records, schema_url)| ScopeLogs { scope, log_records, schema_url });
    let resources = (resource(), vec(scopes, 0..4)).prop_map(|(resource, scope_logs)| ResourceLogs {
        resource,
        scope_logs,
        ..Default::default()
    });
    vec(resources, 0..4).prop_map(|resource_logs| ExportLogsServiceRequest { resource_logs })
}

/// Each span with all that stands around it.
fn spans(request: &[u8]) -> Vec<ResourceSpans> {
    let request = ExportTraceServiceRequest::decode(request).unwrap();
    let mut alone = Vec::new();
    for ResourceSpans { resource, scope_spans, schema_url } in request.resource_spans {
        for ScopeSpans { scope, spans, schema_url: of_scope } in scope_spans {
            alone.extend(spans.into_iter().map(|span| ResourceSpans {
                resource: resource.clone(),
                scope_spans: vec![ScopeSpans {
                    scope: scope.clone(),
                    spans: vec![span],
                    schema_url: of_scope.clone(),
                }],
                schema_url: schema_url.clone(),
            }));
        }
    }
    alone
}

fn records(request: &[u8]) -> Vec<ResourceLogs> {
    let request = ExportLogsServiceRequest::decode(request).unwrap();
    let mut alone = Vec::new();
    for resource in request.resource_logs {
        for scope in resource.scope_logs {
            alone.extend(scope.log_records.into_iter().map(|record| ResourceLogs {
                resource: resource.resource.clone(),
                scope_logs: vec![ScopeLogs {
                    scope: scope.scope.clone(),
                    log_records: vec![record],
                    schema_url: scope.schema_url.clone(),
                }],
                schema_url: resource.schema_url.clone(),
            }));
        }
    }
    alone
}

/// Appends a field that nobody knows, as a later version of the protocol may have it.
fn with_unknown(mut message: Vec<u8>, value: &[u8]) -> Vec<u8> {
    // Field 900, length-delimited.
    message.extend([0xa2, 0x38, value.len() as u8]);
    message.extend(value);
    message
}

fn count(bytes: &[u8], word: &[u8]) -> usize {
    bytes.windows(word.len()).filter(|window| *window == word).count()
}

/// A body some of whose bytes are others.
fn damaged(mut body: Vec<u8>, changes: &[(prop::sample::Index, u8)]) -> Vec<u8> {
    for (at, byte) in changes {
        if !body.is_empty() {
            let at = at.index(body.len());
            body[at] = *byte;
        }
    }
    body
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    /// Parts joined again are the whole: every span once, in order, beside its own resource and scope;
    /// no part is over the limit; only a span that is too large alone is refused.
    #[test]
    fn parts_of_traces_are_the_whole(request in traces(), limit in 100..1500_usize) {
        let body = request.encode_to_vec();
        match cut(&body, limit) {
            Ok(parts) => {
                prop_assert!(parts.iter().all(|part| part.len() <= limit));
                prop_assert!(parts.len() == 1 || parts.iter().all(|part| !spans(part).is_empty()));
                let joined: Vec<_> = parts.iter().flat_map(|part| spans(part)).collect();
                prop_assert_eq!(joined, spans(&body));
                let rows = |body: &[u8]| try_decode(body, Encoding::Protobuf).unwrap().spans;
                let whole = rows(&body);
                let parts: Vec<_> = parts.iter().map(|part| rows(part)).collect();
                prop_assert_eq!(arrow::compute::concat_batches(&whole.schema(), &parts).unwrap(), whole);
            }
            Err(CutError::ItemTooLarge { bytes, limit: told }) => {
                prop_assert_eq!(told, limit);
                let alone = spans(&body).into_iter().map(|span| {
                    ExportTraceServiceRequest { resource_spans: vec![span] }.encoded_len()
                });
                prop_assert!(bytes > limit && alone.max().unwrap() >= bytes);
            }
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
        }
    }

    /// The same of logs.
    #[test]
    fn parts_of_logs_are_the_whole(request in logs(), limit in 400..1500_usize) {
        let body = request.encode_to_vec();
        let parts = cut(&body, limit).unwrap();
        prop_assert!(parts.iter().all(|part| part.len() <= limit));
        let joined: Vec<_> = parts.iter().flat_map(|part| records(part)).collect();
        prop_assert_eq!(joined, records(&body));
        prop_assert_eq!(check_logs(&body, Encoding::Protobuf).unwrap().items, records(&body).len() as u64);
    }

    /// What decodes passes the check, however its bytes were damaged, with as many spans: nothing is refused
    /// on one way in that is stored on another.
    #[test]
    fn what_decodes_passes_the_check(
        request in traces(),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let body = damaged(request.encode_to_vec(), &changes);
        let checked = check_traces(&body, Encoding::Protobuf).map(|checked| checked.items).ok();
        let decoded = try_decode(&body, Encoding::Protobuf).map(|decoded| decoded.received).ok();
        prop_assert!(decoded.is_none() || checked == decoded, "{:?} {:?}", checked, decoded);
        if checked.is_some() {
            // A body that is a request is one to the cut, too.
            prop_assert!(!matches!(cut(&body, 0), Err(CutError::Invalid(_))));
        }
    }

    /// The same of logs, where most records tell of no call.
    #[test]
    fn what_decodes_of_logs_passes_the_check(
        request in logs(),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let body = damaged(request.encode_to_vec(), &changes);
        let checked = check_logs(&body, Encoding::Protobuf).map(|checked| checked.items).ok();
        let decoded = try_decode_logs(&body, Encoding::Protobuf);
        let decoded = decoded.map(|decoded| decoded.received + decoded.passed_over).ok();
        prop_assert!(decoded.is_none() || checked == decoded, "{:?} {:?}", checked, decoded);
    }
}

/// Fields that a later version adds to a request, a resource's spans or a scope's go into every part, and
/// those of a span go with it.
#[test]
fn unknown_fields_are_kept() {
    let span = |name: &str| {
        let span = Span { name: name.repeat(100), ..Span::default() }.encode_to_vec();
        with_unknown(span, b"of the span")
    };
    let message = |tag: u8, bytes: &[u8]| {
        let mut field = vec![tag << 3 | 2];
        prost::encoding::encode_varint(bytes.len() as u64, &mut field);
        [field, bytes.to_vec()].concat()
    };
    let spans: Vec<u8> = ["a", "b", "c"].iter().flat_map(|name| message(2, &span(name))).collect();
    let scope = message(2, &with_unknown(spans, b"of the scope"));
    let resource = message(1, &with_unknown(scope, b"of the resource"));
    let request = with_unknown(resource, b"of the request");
    let parts = cut(&request, 200).unwrap();
    assert_eq!(parts.len(), 3);
    for part in &parts {
        for word in [&b"of the span"[..], b"of the scope", b"of the resource", b"of the request"] {
            assert_eq!(count(part, word), 1, "{}", String::from_utf8_lossy(word));
        }
    }
}

/// JSON is checked by the rules that it is decoded by, spans that will be rejected counted, and comes out
/// as protobuf that can be cut.
#[test]
fn json_is_checked_and_written_as_protobuf() {
    let span = r#"{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174","name":"x","startTimeUnixNano":"1700000000000000000"}"#;
    let body = format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{span},{span},3]}}]}}]}}"#);
    let checked = check_traces(body.as_bytes(), Encoding::Json).unwrap();
    assert_eq!(checked.items, 3);
    let parts = cut(&checked.protobuf, checked.protobuf.len() - 1).unwrap();
    assert_eq!(parts.iter().map(|part| spans(part).len()).collect::<Vec<_>>(), [1, 1]);
    assert!(check_traces(b"{", Encoding::Json).is_err());
    assert!(check_traces(br#"{"resourceLogs":[]}"#, Encoding::Json).is_err());
    assert!(check_logs(br#"{"resourceSpans":[]}"#, Encoding::Json).is_err());
}

/// A request that is small enough is passed on as the very bytes that came.
#[test]
fn a_small_request_is_not_touched() {
    let body = [with_unknown(Vec::new(), b"odd"), vec![0x0a, 0x80, 0x00]].concat();
    let parts = cut(&body, body.len()).unwrap();
    assert!(matches!(parts.as_slice(), [std::borrow::Cow::Borrowed(part)] if *part == body));
}
