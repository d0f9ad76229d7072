//! OTLP/JSON logs requests as protobuf, as tolerant as `transcode` is of spans.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::node::Node;
use super::transcode::{
    id, message, unsigned, write_any, write_attributes, write_bytes, write_fixed64, write_number, write_text,
};
use crate::DecodeError;
use crate::rejected::Rejected;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    #[serde(borrow)]
    resource_logs: Option<Vec<ResourceLogs<'a>>>,
    resource_spans: Option<IgnoredAny>,
    resource_metrics: Option<IgnoredAny>,
    #[serde(rename = "resource_logs")]
    snake_case: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResourceLogs<'a> {
    #[serde(borrow)]
    resource: Option<Node<'a>>,
    scope_logs: Option<Vec<ScopeLogs<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ScopeLogs<'a> {
    #[serde(borrow)]
    scope: Option<Node<'a>>,
    log_records: Option<Vec<&'a RawValue>>,
}

/// Writes a JSON logs request as protobuf; records that can't be are added to `rejected`.
///
/// # Errors
/// The body is not JSON, or not a logs request.
pub(crate) fn logs_to_protobuf(body: &[u8], rejected: &mut Rejected) -> Result<Vec<u8>, DecodeError> {
    let text = String::from_utf8_lossy(body);
    let request: Request<'_> =
        serde_json::from_str(&text).map_err(|error| DecodeError::Invalid(error.to_string()))?;
    for (found, path) in [(&request.resource_spans, "/v1/traces"), (&request.resource_metrics, "/v1/metrics")]
    {
        if found.is_some() {
            return Err(DecodeError::Invalid(format!("it belongs to {path}")));
        }
    }
    if request.snake_case.is_some() {
        return Err(DecodeError::Invalid("its keys must be in lowerCamelCase: resourceLogs".to_owned()));
    }
    let mut out = Vec::with_capacity(body.len() / 2);
    for resource_logs in request.resource_logs.into_iter().flatten() {
        message(1, &mut out, |out| write_resource_logs(&resource_logs, out, rejected));
    }
    Ok(out)
}

fn write_resource_logs(resource_logs: &ResourceLogs<'_>, out: &mut Vec<u8>, rejected: &mut Rejected) {
    if let Some(resource) = &resource_logs.resource {
        message(1, out, |out| write_attributes(1, resource, out));
    }
    for scope_logs in resource_logs.scope_logs.iter().flatten() {
        message(2, out, |out| {
            if let Some(scope) = &scope_logs.scope {
                message(1, out, |out| {
                    write_text(1, scope.get("name"), out);
                    write_text(2, scope.get("version"), out);
                });
            }
            for record in scope_logs.log_records.iter().flatten() {
                match serde_json::from_str(record.get()) {
                    Ok(record @ Node::Object(_)) => message(2, out, |out| write_record(&record, out)),
                    Ok(_) => rejected.add("it is no JSON object".to_owned()),
                    Err(_) => rejected.add("it is nested too deep".to_owned()),
                }
            }
        });
    }
}

fn write_record(record: &Node<'_>, out: &mut Vec<u8>) {
    write_fixed64(1, unsigned(record.get("timeUnixNano")).unwrap_or_default(), out);
    message(5, out, |out| write_any(record.get("body"), out));
    write_attributes(6, record, out);
    write_number(7, unsigned(record.get("droppedAttributesCount")).unwrap_or_default(), out);
    // An id that is none is as good as none: the span that the record becomes then gets one.
    write_bytes(9, &id(record.get("traceId"), "trace").unwrap_or_default(), out);
    write_bytes(10, &id(record.get("spanId"), "span").unwrap_or_default(), out);
    write_fixed64(11, unsigned(record.get("observedTimeUnixNano")).unwrap_or_default(), out);
    write_text(12, record.get("eventName"), out);
}
