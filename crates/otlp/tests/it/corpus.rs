//! Bodies that real libraries sent, against what the provider's stand-in billed.

use std::collections::BTreeMap;
use std::path::Path;

use plimsoll_otlp::Encoding;
use serde_json::Value;

use crate::support::{Row, rows, shared, try_decode};

/// The rows of a capture, and how many spans it holds by its own list.
fn capture(folder: &Path) -> (Vec<Row>, usize) {
    let mut bodies: Vec<_> =
        std::fs::read_dir(folder.join("raw")).unwrap().map(|entry| entry.unwrap().path()).collect();
    bodies.sort();
    let mut found = Vec::new();
    for body in bodies {
        let name = body.file_name().unwrap().to_string_lossy().into_owned();
        let encoding = if name.ends_with(".json") { Encoding::Json } else { Encoding::Protobuf };
        if name.contains(".traces.") {
            let decoded = try_decode(&std::fs::read(&body).unwrap(), encoding).unwrap();
            assert_eq!((decoded.rejected, decoded.quarantined.num_rows()), (0, 0), "{name}");
            found.extend(rows(&decoded.spans));
        }
    }
    let listed: Value = json(&folder.join("spans.json"));
    (found, listed["spans"].as_array().unwrap().len())
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Every capture decodes to as many rows as it holds spans, and no content is in them.
#[test]
fn every_capture_decodes() {
    let Some(folder) = shared("corpus") else { return };
    for entry in std::fs::read_dir(folder).unwrap() {
        let folder = entry.unwrap().path();
        if !folder.join("spans.json").exists() {
            continue;
        }
        let (found, listed) = capture(&folder);
        assert_eq!(found.len(), listed, "{}", folder.display());
        for row in &found {
            for (key, value) in row.attributes() {
                assert!(!value.contains("You reconcile supplier"), "{} stores {key}", folder.display());
                assert!(!value.contains("Reconcile batch"), "{} stores {key}", folder.display());
            }
        }
    }
}

/// The calls of a run that went well, and a sum over them: null where one of them is.
fn ok<'r>(rows: &[&'r Row]) -> Vec<&'r Row> {
    rows.iter().copied().filter(|row| row.text("status") != Some("error")).collect()
}

fn sum(rows: &[&Row], column: &str) -> Option<i64> {
    rows.iter().map(|row| row.int(column)).sum()
}

/// Token sums are the bill wherever they can be, and null where the client kept back what it takes. Here are
/// the captures in which each call is one span; the others take the election of model calls first.
#[test]
fn token_sums_match_the_bill() {
    let Some(folder) = shared("corpus") else { return };
    let determinable = json(&folder.join("DETERMINABLE.json"));
    for name in [
        "semconv-manual",
        "semconv-manual-aggregate-grpc",
        "openai-v2",
        "openai-v2-experimental",
        "anthropic-sdk-native",
        "openinference-openai",
        "openinference-anthropic",
        "traceloop-openai",
        "langfuse",
        "vercel-ai-6-json",
        "strands",
        "google-adk",
        "traceloop-anthropic",
        "traceloop-anthropic-2024",
        "crewai-openinference",
        "openinference-openai-2024",
        "traceloop-openai-2024",
        "openai-agents-logfire",
    ] {
        let (found, _) = capture(&folder.join(name));
        for run in json(&folder.join(name).join("truth.json"))["runs"].as_array().unwrap() {
            let traces: Vec<&str> =
                run["trace_ids"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
            let of_kind = |kind: &str| -> Vec<&Row> {
                found
                    .iter()
                    .filter(|row| {
                        row.text("kind") == Some(kind) && traces.contains(&row.text("trace_id").unwrap())
                    })
                    .collect()
            };
            let number = run["run"].to_string();
            let exact: Vec<&str> = determinable[name][&number]["exact"]
                .as_array()
                .unwrap()
                .iter()
                .filter_map(Value::as_str)
                .collect();
            let bill = &run["tokens_generation"];
            let calls = ok(&of_kind("model_call"));
            if exact.contains(&"model_calls") {
                assert_eq!(
                    Some(calls.len() as u64),
                    run["model_calls_ok"].as_u64(),
                    "{name} run {number} calls"
                );
            }
            for (column, key) in [
                ("input_tokens", "input_total"),
                ("input_uncached", "input_uncached"),
                ("cache_read", "cached_input"),
                ("cache_write", "cache_write"),
                ("output_tokens", "output_total"),
            ] {
                let (found, billed) = (sum(&calls, column), bill[key].as_i64());
                if exact.contains(&column) {
                    assert_eq!(found, billed, "{name} run {number} {column}");
                } else if exact.contains(&"model_calls") {
                    let marked = |row: &&Row| row.quality().contains(&"usage_estimated".to_owned());
                    let known = found.is_none() || found == billed || calls.iter().any(marked);
                    assert!(known, "{name} run {number} {column}: {found:?}, not {billed:?}");
                }
            }
            // A function that embeds is a span of its own around the call, without usage.
            let embeddings: Vec<_> =
                of_kind("embedding").into_iter().filter(|row| row.int("input_tokens").is_some()).collect();
            if !embeddings.is_empty() {
                assert_eq!(
                    sum(&ok(&embeddings), "input_tokens"),
                    run["tokens_embedding"]["input_total"].as_i64(),
                    "{name} run {number} embedding"
                );
            }
            if exact.contains(&"tool_calls") {
                assert_eq!(
                    Some(of_kind("tool_call").len() as u64),
                    run["tool_executions"].as_u64().or(run["tool_calls"].as_u64()),
                    "{name} run {number} tools"
                );
            }
        }
    }
}

/// What else the manual capture tells comes out under its names.
#[test]
fn manual_capture_columns() {
    let Some(folder) = shared("corpus/semconv-manual") else { return };
    let (found, _) = capture(&folder);
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for row in &found {
        *kinds.entry(row.text("kind").unwrap()).or_default() += 1;
    }
    assert_eq!((kinds["request"], kinds["workflow"], kinds["embedding"], kinds["tool_call"]), (3, 3, 3, 9));
    let throttled: Vec<_> = found.iter().filter(|row| row.int("http_status") == Some(429)).collect();
    assert!(throttled.len() >= 3);
    assert!(
        throttled
            .iter()
            .all(|row| row.text("error_type") == Some("throttled") && row.text("status") == Some("error"))
    );
    let streams: Vec<_> = found.iter().filter(|row| row.flag("streaming") == Some(true)).collect();
    assert!(
        streams.iter().any(|row| row.float("ttft_ms").is_some_and(|ttft| (10.0..1000.0).contains(&ttft)))
    );
    let workflow = found.iter().find(|row| row.text("kind") == Some("workflow")).unwrap();
    assert_eq!(workflow.text("workflow"), Some("invoice-reconciliation"));
    let tool = found.iter().find(|row| row.text("kind") == Some("tool_call")).unwrap();
    assert!(tool.text("tool").is_some() && tool.text("tool_call_id").is_some());
    let call = found.iter().find(|row| row.text("kind") == Some("model_call")).unwrap();
    assert_eq!(
        (call.text("provider"), call.text("endpoint"), call.text("dialect")),
        (Some("openai"), Some("127.0.0.1"), Some("otel-genai"))
    );
    assert_eq!(call.attribute("deployment.environment.name").unwrap(), "prod");
    assert_eq!(call.attribute("host.name"), None);
}
