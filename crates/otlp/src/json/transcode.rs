//! OTLP/JSON to OTLP/protobuf, so that one reader serves both.
//!
//! Tolerant where clients err and the meaning is clear: numbers as text, enum names, any case of hex,
//! unknown fields. What is in log records is `logs`' business.
//! A span that can't be written is rejected by itself, and its neighbours go on
//! (facts/dialects.md par. 9.1; torture inputs T24 and T25).

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use prost::encoding::{WireType, encode_key, encode_varint};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::node::Node;
use crate::DecodeError;
use crate::rejected::Rejected;

const SPAN_KINDS: [&str; 6] = ["UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"];
const STATUS_CODES: [&str; 3] = ["UNSET", "OK", "ERROR"];

/// Text beyond this isn't copied: nothing reads that far into a value.
const MAX_TEXT: usize = 1 << 20;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    #[serde(borrow)]
    resource_spans: Option<Vec<ResourceSpans<'a>>>,
    resource_logs: Option<IgnoredAny>,
    resource_metrics: Option<IgnoredAny>,
    #[serde(rename = "resource_spans")]
    snake_case: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResourceSpans<'a> {
    #[serde(borrow)]
    resource: Option<Node<'a>>,
    scope_spans: Option<Vec<ScopeSpans<'a>>>,
}

#[derive(Deserialize)]
struct ScopeSpans<'a> {
    #[serde(borrow)]
    scope: Option<Node<'a>>,
    /// Spans are parsed one by one, so that one bad span spoils no other and memory stays small.
    spans: Option<Vec<&'a RawValue>>,
}

/// Writes a JSON trace request as protobuf; spans that can't be are added to `rejected`.
///
/// # Errors
/// The body is not JSON, or not a trace request.
pub(crate) fn to_protobuf(body: &[u8], rejected: &mut Rejected) -> Result<Vec<u8>, DecodeError> {
    let text = String::from_utf8_lossy(body);
    let request: Request<'_> =
        serde_json::from_str(&text).map_err(|error| DecodeError::Invalid(error.to_string()))?;
    for (found, path) in [(&request.resource_logs, "/v1/logs"), (&request.resource_metrics, "/v1/metrics")] {
        if found.is_some() {
            return Err(DecodeError::Invalid(format!("it belongs to {path}")));
        }
    }
    if request.snake_case.is_some() {
        return Err(DecodeError::Invalid("its keys must be in lowerCamelCase: resourceSpans".to_owned()));
    }
    let mut out = Vec::with_capacity(body.len() / 2);
    for resource_spans in request.resource_spans.into_iter().flatten() {
        message(1, &mut out, |out| write_resource_spans(&resource_spans, out, rejected));
    }
    Ok(out)
}

fn write_resource_spans(resource_spans: &ResourceSpans<'_>, out: &mut Vec<u8>, rejected: &mut Rejected) {
    if let Some(resource) = &resource_spans.resource {
        message(1, out, |out| write_attributes(1, resource, out));
    }
    for scope_spans in resource_spans.scope_spans.iter().flatten() {
        message(2, out, |out| {
            if let Some(scope) = &scope_spans.scope {
                message(1, out, |out| {
                    write_text(1, scope.get("name"), out);
                    write_text(2, scope.get("version"), out);
                });
            }
            for span in scope_spans.spans.iter().flatten() {
                let mut bytes = Vec::with_capacity(span.get().len());
                match write_span(span, &mut bytes) {
                    Ok(()) => write_bytes(2, &bytes, out),
                    Err(reason) => rejected.add(reason),
                }
            }
        });
    }
}

fn write_span(raw: &RawValue, out: &mut Vec<u8>) -> Result<(), String> {
    let span: Node<'_> = serde_json::from_str(raw.get()).map_err(|_| "it is nested too deep".to_owned())?;
    if !matches!(span, Node::Object(_)) {
        return Err("it is no JSON object".to_owned());
    }
    write_bytes(1, &id(span.get("traceId"), "trace")?, out);
    write_bytes(2, &id(span.get("spanId"), "span")?, out);
    write_text(3, span.get("traceState"), out);
    // A parent's id that is none is told by its length.
    write_bytes(4, &id(span.get("parentSpanId"), "parent").unwrap_or_else(|_| vec![0]), out);
    write_text(5, span.get("name"), out);
    write_number(6, enum_number(span.get("kind"), "SPAN_KIND_", &SPAN_KINDS), out);
    write_fixed64(7, time(span.get("startTimeUnixNano"), "startTimeUnixNano")?, out);
    write_fixed64(8, time(span.get("endTimeUnixNano"), "endTimeUnixNano")?, out);
    write_attributes(9, &span, out);
    write_number(10, unsigned(span.get("droppedAttributesCount")).unwrap_or_default(), out);
    for event in span.get("events").elements() {
        message(11, out, |out| {
            write_fixed64(1, unsigned(event.get("timeUnixNano")).unwrap_or_default(), out);
            write_text(2, event.get("name"), out);
            write_attributes(3, event, out);
        });
    }
    // Of links the first alone is read; one whose id is none is no link.
    if let Some(trace) =
        span.get("links").elements().first().and_then(|link| id(link.get("traceId"), "trace").ok())
    {
        message(13, out, |out| write_bytes(1, &trace, out));
    }
    let status = enum_number(span.get("status").get("code"), "STATUS_CODE_", &STATUS_CODES);
    message(15, out, |out| write_number(3, status, out));
    Ok(())
}

/// The bytes of an id in hex; none is an id of no bytes.
pub(super) fn id(node: &Node<'_>, name: &str) -> Result<Vec<u8>, String> {
    match node {
        Node::Null => Ok(Vec::new()),
        Node::Text(text) => {
            hex::decode(text.as_bytes()).map_err(|_| format!("{name} id is not in hex (base64?)"))
        }
        _ => Err(format!("{name} id is not text")),
    }
}

/// Nanoseconds; what is too large for 64 bits stays too large.
fn time(node: &Node<'_>, name: &str) -> Result<u64, String> {
    match node {
        Node::Null => Ok(0),
        node => unsigned(node).ok_or_else(|| format!("{name} is not a whole number")),
    }
}

/// A whole number from number or text.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be a whole number; a cast of what is too large gives the largest"
)]
pub(super) fn unsigned(node: &Node<'_>) -> Option<u64> {
    match node {
        Node::Unsigned(number) => Some(*number),
        Node::Float(number) if *number >= 0.0 && number.fract() == 0.0 => Some(*number as u64),
        Node::Text(text) if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some(text.parse().unwrap_or(u64::MAX))
        }
        _ => None,
    }
}

/// An enum by number, by name, or by name without its prefix; zero for what is neither.
fn enum_number(node: &Node<'_>, prefix: &str, names: &[&str]) -> u64 {
    let named = || {
        let name = node.text()?;
        let name = name.strip_prefix(prefix).unwrap_or(name);
        names.iter().position(|known| known.eq_ignore_ascii_case(name)).map(|position| position as u64)
    };
    unsigned(node).or_else(named).unwrap_or_default()
}

/// The `attributes` of an object.
pub(super) fn write_attributes(tag: u32, object: &Node<'_>, out: &mut Vec<u8>) {
    write_pairs(tag, object.get("attributes"), out);
}

fn write_pairs(tag: u32, pairs: &Node<'_>, out: &mut Vec<u8>) {
    for pair in pairs.elements() {
        message(tag, out, |out| {
            write_text(1, pair.get("key"), out);
            message(2, out, |out| write_any(pair.get("value"), out));
        });
    }
}

/// An `AnyValue`; a number that is none goes on as text, for those who read it to judge.
pub(super) fn write_any(node: &Node<'_>, out: &mut Vec<u8>) {
    let Some((member, value)) = node.members().iter().find(|(_, value)| *value != Node::Null) else {
        return;
    };
    match (&**member, value) {
        ("stringValue", Node::Text(text)) => {
            let end = text.floor_char_boundary(MAX_TEXT);
            write_bytes(1, &text.as_bytes()[..end], out);
        }
        ("boolValue", Node::Flag(flag)) => write_number(2, u64::from(*flag), out),
        ("intValue", value) => match integer(value) {
            Some(number) => write_number(3, number.cast_unsigned(), out),
            None => write_as_text(value, out),
        },
        ("doubleValue", value) => match double(value) {
            Some(number) => write_fixed64(4, number.to_bits(), out),
            None => write_as_text(value, out),
        },
        ("arrayValue", list) => message(5, out, |out| {
            for element in list.get("values").elements() {
                message(1, out, |out| write_any(element, out));
            }
        }),
        ("kvlistValue", map) => message(6, out, |out| write_pairs(1, map.get("values"), out)),
        ("bytesValue", Node::Text(text)) => {
            write_bytes(
                7,
                &BASE64_STANDARD.decode(&**text).unwrap_or_else(|_| text.as_bytes().to_vec()),
                out,
            );
        }
        _ => {}
    }
}

fn integer(node: &Node<'_>) -> Option<i64> {
    match node {
        Node::Unsigned(number) => i64::try_from(*number).ok(),
        Node::Signed(number) => Some(*number),
        Node::Text(text) => text.parse().ok(),
        _ => None,
    }
}

#[expect(clippy::cast_precision_loss, reason = "a double was asked for")]
fn double(node: &Node<'_>) -> Option<f64> {
    match node {
        Node::Unsigned(number) => Some(*number as f64),
        Node::Signed(number) => Some(*number as f64),
        Node::Float(number) => Some(*number),
        Node::Text(text) => text.parse().ok(),
        _ => None,
    }
}

fn write_as_text(node: &Node<'_>, out: &mut Vec<u8>) {
    match node {
        Node::Text(text) => write_bytes(1, text.as_bytes(), out),
        Node::Unsigned(number) => write_bytes(1, number.to_string().as_bytes(), out),
        Node::Float(number) => write_bytes(1, number.to_string().as_bytes(), out),
        _ => {}
    }
}

pub(super) fn write_text(tag: u32, value: &Node<'_>, out: &mut Vec<u8>) {
    if let Some(text) = value.text() {
        write_bytes(tag, text.as_bytes(), out);
    }
}

pub(super) fn write_bytes(tag: u32, bytes: &[u8], out: &mut Vec<u8>) {
    encode_key(tag, WireType::LengthDelimited, out);
    encode_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

pub(super) fn write_number(tag: u32, number: u64, out: &mut Vec<u8>) {
    encode_key(tag, WireType::Varint, out);
    encode_varint(number, out);
}

pub(super) fn write_fixed64(tag: u32, number: u64, out: &mut Vec<u8>) {
    encode_key(tag, WireType::SixtyFourBit, out);
    out.extend_from_slice(&number.to_le_bytes());
}

/// A message: its length goes before it once that is known.
pub(super) fn message(tag: u32, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    encode_key(tag, WireType::LengthDelimited, out);
    let at = out.len();
    out.push(0);
    write(out);
    let len = out.len() - at - 1;
    match u8::try_from(len) {
        Ok(short) if short < 0x80 => out[at] = short,
        _ => {
            let mut prefix = Vec::new();
            encode_varint(len as u64, &mut prefix);
            out.splice(at..=at, prefix);
        }
    }
}
