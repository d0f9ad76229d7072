//! `plimsoll explain` on one real trace of each of a dozen frameworks, read by eye once.
//!
//! The traces are exports of other tools, with the original attributes in them; they are turned back
//! into OTLP/JSON here. A snapshot that changes is to be read again.

use std::collections::BTreeMap;
use std::path::Path;

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::support::{explained, shared};

/// Spans by their scope and resource, as OTLP groups them.
type Groups = BTreeMap<String, (Value, Value, Vec<Value>)>;

/// Every trace that Langfuse exported: the framework's own attributes, or those that the Langfuse SDK
/// sends for what the export holds in fields of its own.
#[test]
fn langfuse_exports() {
    check("data/langfuse_framework_traces", |trace, groups| {
        for observation in trace["observations"].as_array().unwrap() {
            let metadata = parsed(&observation["metadata"]);
            let attributes = match parsed(&metadata["attributes"]) {
                Value::Object(sent) if !sent.is_empty() => sent,
                _ => of_langfuse(&trace["trace"], observation, &metadata),
            };
            let span = json!({
                "traceId": id(&observation["traceId"], 32),
                "spanId": id(&observation["id"], 16),
                "parentSpanId": observation["parentObservationId"].as_str().map_or(String::new(), |parent| id(&parent.into(), 16)),
                "name": observation["name"],
                "kind": 1,
                "startTimeUnixNano": nanos(&observation["startTime"]),
                "endTimeUnixNano": nanos(&observation["endTime"]),
                "attributes": pairs(&attributes),
            });
            add(groups, &parsed(&metadata["scope"]), &parsed(&metadata["resourceAttributes"]), span);
        }
    });
}

/// Every trace that any-agent wrote: OpenTelemetry's own span objects, ids as numbers.
#[test]
fn any_agent_traces() {
    check("data/any_agent_traces", |trace, groups| {
        for span in trace["spans"].as_array().unwrap() {
            let status =
                ["unset", "ok", "error"].iter().position(|status| span["status"]["status_code"] == *status);
            let otlp = json!({
                "traceId": number(&span["context"]["trace_id"], 32),
                "spanId": number(&span["context"]["span_id"], 16),
                "parentSpanId": number(&span["parent"]["span_id"], 16),
                "name": span["name"],
                "kind": 1,
                "startTimeUnixNano": span["start_time"],
                "endTimeUnixNano": span["end_time"],
                "attributes": span["attributes"].as_object().map(pairs),
                "status": { "code": status },
            });
            add(groups, &span["instrumentation_scope"], &span["resource"]["attributes"], otlp);
        }
    });
}

/// Converts each file of a folder and holds what `explain` says of it against its snapshot.
fn check(folder: &str, convert: impl Fn(&Value, &mut Groups)) {
    let Some(folder) = shared(folder) else { return };
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    for file in files {
        // Ids of 128 bits are written as numbers: as text they survive parsing.
        let text = quoted_ids(&std::fs::read_to_string(&file).unwrap());
        let mut groups = Groups::new();
        convert(&serde_json::from_str(&text).unwrap(), &mut groups);
        let resource_spans: Vec<Value> = groups
            .into_values()
            .map(|(scope, resource, spans)| {
                let scope = json!({ "name": scope["name"], "version": scope["version"] });
                let attributes = resource.as_object().map(pairs);
                json!({
                    "resource": { "attributes": attributes },
                    "scopeSpans": [{ "scope": scope, "spans": spans }],
                })
            })
            .collect();
        let folder = tempfile::tempdir().unwrap();
        let otlp = folder.path().join("trace.json");
        std::fs::write(&otlp, json!({ "resourceSpans": resource_spans }).to_string()).unwrap();
        insta::assert_snapshot!(name(&file), explained(&otlp));
    }
}

fn name(file: &Path) -> String {
    file.file_stem().unwrap().to_string_lossy().to_lowercase()
}

fn add(groups: &mut Groups, scope: &Value, resource: &Value, span: Value) {
    let group = groups.entry(format!("{scope} {resource}"));
    group.or_insert_with(|| (scope.clone(), resource.clone(), Vec::new())).2.push(span);
}

/// What the Langfuse SDK puts on a span, from the fields that the server made of it.
fn of_langfuse(trace: &Value, observation: &Value, metadata: &Value) -> Map<String, Value> {
    let mut attributes = Map::new();
    let mut put = |key: &str, value: Value| {
        if !value.is_null() {
            attributes.insert(format!("langfuse.{key}"), value);
        }
    };
    put("observation.type", observation["type"].as_str().map(str::to_lowercase).into());
    put("observation.model.name", observation["model"].clone());
    let usage = observation["usageDetails"].as_object();
    let used =
        usage.filter(|usage| usage.values().any(|count| count.as_u64().is_some_and(|count| count > 0)));
    put("observation.usage_details", used.map(|usage| Value::from(usage.clone()).to_string()).into());
    if observation["parentObservationId"].is_null() {
        put("trace.name", trace["name"].clone());
    }
    for (key, value) in metadata.as_object().into_iter().flatten() {
        if !["attributes", "scope", "resourceAttributes"].contains(&key.as_str()) {
            put(&format!("observation.metadata.{key}"), value.clone());
        }
    }
    attributes
}

/// A value that may be JSON text.
fn parsed(value: &Value) -> Value {
    value.as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_else(|| value.clone())
}

/// Attributes as OTLP/JSON has them; what has structure as JSON text.
fn pairs(attributes: &Map<String, Value>) -> Value {
    let value = |value: &Value| match value {
        Value::Bool(flag) => json!({ "boolValue": flag }),
        Value::Number(number) if number.is_f64() => json!({ "doubleValue": number }),
        Value::Number(number) => json!({ "intValue": number }),
        Value::String(text) => json!({ "stringValue": text }),
        Value::Null => json!({}),
        structure => json!({ "stringValue": structure.to_string() }),
    };
    attributes.iter().map(|(key, found)| json!({ "key": key, "value": value(found) })).collect()
}

/// An id in hex as it is; any other is hashed to one.
fn id(text: &Value, digits: usize) -> String {
    let text = text.as_str().unwrap_or_default();
    if text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return text.to_owned();
    }
    let hash = Sha256::digest(text.as_bytes());
    hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>()[..digits].to_owned()
}

/// A decimal id in hex; nothing for none.
fn number(text: &Value, digits: usize) -> String {
    let number = text.as_str().and_then(|text| text.parse::<u128>().ok());
    number.map_or(String::new(), |number| format!("{number:0digits$x}"))
}

fn nanos(time: &Value) -> String {
    let time = time.as_str().and_then(|time| time.parse::<Timestamp>().ok());
    time.map_or("0".to_owned(), |time| time.as_nanosecond().to_string())
}

/// The text with the numbers after `_id": ` between quotes.
fn quoted_ids(text: &str) -> String {
    let mut parts = text.split("_id\": ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = part.split_at(digits);
        let number = if digits > 0 { format!("\"{number}\"") } else { String::new() };
        text + "_id\": " + &number + rest
    })
}
