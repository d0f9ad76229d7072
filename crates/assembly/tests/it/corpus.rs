//! Captured runs of real libraries against what the provider billed.
//!
//! The dialects are `plimsoll-otlp`'s; the few lines here read just enough of the captures named below
//! to put assembly itself to the proof: nested totals, doubles, retries, handoffs.

use std::error::Error;
use std::path::PathBuf;

use plimsoll_assembly::{Kind, Span, Status, Tokens, assemble};
use serde_json::Value;

const CAPTURES: [&str; 12] = [
    "crewai-openinference",
    "google-adk",
    "langchain-openai-double",
    "langchain-openinference",
    "openai-agents-openinference",
    "openinference-anthropic-double",
    "openinference-openai",
    "pydantic-ai",
    "semconv-manual",
    "semconv-manual-aggregate-grpc",
    "strands",
    "traceloop-openai",
];

/// First of several attributes that is there.
fn attribute<'a>(span: &'a Value, names: &[&str]) -> Option<&'a Value> {
    names.iter().find_map(|name| span["attributes"].get(name))
}

fn text<'a>(span: &'a Value, names: &[&str]) -> Option<&'a str> {
    attribute(span, names).and_then(Value::as_str)
}

fn kind(span: &Value) -> Kind {
    let class = text(span, &["openinference.span.kind", "gen_ai.operation.name", "traceloop.span.kind"]);
    match class.or(text(span, &["llm.request.type"])).unwrap_or_default() {
        "LLM" | "chat" | "generate_content" | "text_completion" => Kind::ModelCall,
        "EMBEDDING" | "embeddings" | "embedding" => Kind::Embedding,
        "TOOL" | "execute_tool" | "tool" => Kind::ToolCall,
        "AGENT" | "invoke_agent" | "agent" => Kind::Agent,
        "invoke_workflow" | "workflow" => Kind::Workflow,
        _ if span["kind"] == "SERVER" => Kind::Request,
        _ => Kind::Step,
    }
}

fn counts(span: &Value) -> Tokens {
    let count = |names: &[&str]| attribute(span, names).and_then(Value::as_i64);
    // Anthropic's usage has no reasoning of its own.
    let anthropic =
        text(span, &["gen_ai.request.model", "llm.model_name"]).is_some_and(|m| m.starts_with("claude"));
    Tokens {
        input_tokens: count(&["gen_ai.usage.input_tokens", "llm.token_count.prompt"]),
        output_tokens: count(&["gen_ai.usage.output_tokens", "llm.token_count.completion"]),
        cache_read: count(&[
            "gen_ai.usage.cache_read.input_tokens",
            "llm.token_count.prompt_details.cache_read",
        ]),
        reasoning_tokens: count(&[
            "gen_ai.usage.reasoning.output_tokens",
            "gen_ai.usage.reasoning_tokens",
            "gen_ai.usage.details.reasoning_tokens",
            "llm.token_count.completion_details.reasoning",
        ])
        .or(anthropic.then_some(0)),
        ..Tokens::default()
    }
}

fn read(span: &Value) -> Option<Span<'_>> {
    let exception = span["events"].get(0).and_then(|event| event["attributes"]["exception.type"].as_str());
    Some(Span {
        trace_id: span["trace_id"].as_str()?,
        span_id: span["span_id"].as_str()?,
        parent_span_id: span["parent_span_id"].as_str(),
        kind: kind(span),
        name: span["name"].as_str(),
        scope: span["scope"].as_str(),
        start_unix_nano: span["start_unix_nano"].as_i64()?,
        duration_ms: Some((span["end_unix_nano"].as_i64()? - span["start_unix_nano"].as_i64()?) as f64 / 1e6),
        status: Status::parse(&span["status"].as_str()?.to_lowercase()),
        error_type: text(span, &["error.type"]).or(exception),
        http_status: attribute(span, &["http.response.status_code"])
            .and_then(Value::as_i64)
            .map(|s| s as i32),
        model: text(span, &["gen_ai.request.model", "llm.model_name"]),
        response_id: text(span, &["gen_ai.response.id"]),
        operation: text(span, &["gen_ai.operation.name"]),
        tool: text(span, &["gen_ai.tool.name", "tool.name"]),
        tool_call_id: text(span, &["gen_ai.tool.call.id"]),
        retries: attribute(span, &["http.request.resend_count"]).and_then(Value::as_i64).map(|n| n as i32),
        tokens: counts(span),
        weight: 1.0,
        ..Span::default()
    })
}

/// Every figure that a capture's telemetry can tell comes out as billed; the others are null or right.
#[test]
#[expect(clippy::print_stdout, reason = "a test that is skipped says so")]
fn captured_runs_count_as_billed() -> Result<(), Box<dyn Error>> {
    let shared = std::env::var_os("PLIMSOLL_SHARED")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let corpus = shared.join("corpus");
    let load = |path: PathBuf| -> Result<Value, Box<dyn Error>> {
        Ok(serde_json::from_slice(&std::fs::read(path)?)?)
    };
    if !corpus.is_dir() {
        println!("skipped: no captures at {}", corpus.display());
        return Ok(());
    }
    let determinable = load(corpus.join("DETERMINABLE.json"))?;
    let mut wrong = Vec::new();
    for capture in CAPTURES {
        let spans = load(corpus.join(capture).join("spans.json"))?;
        let truth = load(corpus.join(capture).join("truth.json"))?;
        let spans: Vec<Span<'_>> = spans["spans"].as_array().into_iter().flatten().filter_map(read).collect();
        for run in truth["runs"].as_array().into_iter().flatten() {
            let traces: Vec<&str> =
                run["trace_ids"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let of_run: Vec<Span<'_>> =
                spans.iter().filter(|span| traces.contains(&span.trace_id)).cloned().collect();
            let got = assemble("run", of_run).run;
            let billed = &run["tokens_generation"];
            let exact = &determinable[capture][run["run"].to_string()]["exact"];
            for (column, got, truth) in [
                ("model_calls", got.model_calls, &run["model_calls_ok"]),
                ("tool_calls", got.tool_calls, &run["tool_executions"]),
                ("input_tokens", got.tokens.input_tokens, &billed["input_total"]),
                ("output_tokens", got.tokens.output_tokens, &billed["output_total"]),
                ("cache_read", got.tokens.cache_read, &billed["cached_input"]),
                ("reasoning_tokens", got.tokens.reasoning_tokens, &billed["reasoning"]),
                ("throttled_attempts", got.throttled_attempts, &run["status_429"]),
            ] {
                let must = exact.as_array().is_some_and(|exact| exact.iter().any(|name| name == column));
                let misreported = capture == "google-adk" && column == "output_tokens";
                // What a dialect leaves out when it is zero is the dialect tables' to know.
                let silent_zero = got.is_none() && truth.as_i64() == Some(0);
                if got != truth.as_i64() && !silent_zero && (must || got.is_some()) && !misreported {
                    wrong.push(format!("{capture} run {}: {column} is {got:?}, billed {truth}", run["run"]));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}
