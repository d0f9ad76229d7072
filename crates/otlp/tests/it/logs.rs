//! What coding agents say in logs: calls, attempts and tokens once each, and nothing else stored.
//!
//! The records are shaped as those that the programs send (Claude Code 2.1.197, Codex 0.171.0, Gemini CLI
//! 0.61.0); the numbers are made so that a wrong rule shows.

use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::trace::v1::Span;
use plimsoll_otlp::{Decoded, Encoding};
use serde_json::{Value, json};

use crate::support::{Row, START, attribute, row_of, rows, span, try_decode_logs};

pub(crate) const SECOND: u64 = 1_000_000_000;
pub(crate) const TRACE: &str = "44c50f492ed77e898335b8d40687bf11";
pub(crate) const SPAN: &str = "cd9c237f562e3e83";

/// A record in OTLP/JSON; attributes as they are written in the tests.
pub(crate) fn record(at: u64, attributes: &Value) -> Value {
    let pairs: Vec<Value> = attributes
        .as_object()
        .unwrap()
        .iter()
        .map(|(key, value)| {
            let value = match value {
                Value::String(text) => json!({ "stringValue": text }),
                Value::Bool(flag) => json!({ "boolValue": flag }),
                Value::Number(number) if number.is_f64() => json!({ "doubleValue": number }),
                Value::Array(texts) => {
                    let texts: Vec<_> = texts.iter().map(|text| json!({ "stringValue": text })).collect();
                    json!({ "arrayValue": { "values": texts } })
                }
                number => json!({ "intValue": number.to_string() }),
            };
            json!({ "key": key, "value": value })
        })
        .collect();
    json!({ "timeUnixNano": (START + at).to_string(), "attributes": pairs })
}

pub(crate) fn body(scope: &str, service: &str, records: &[Value]) -> Vec<u8> {
    let service = json!([{ "key": "service.name", "value": { "stringValue": service } }]);
    json!({ "resourceLogs": [{
        "resource": { "attributes": service },
        "scopeLogs": [{ "scope": { "name": scope }, "logRecords": records }],
    }] })
    .to_string()
    .into_bytes()
}

pub(crate) fn decode(scope: &str, service: &str, records: &[Value]) -> Decoded {
    try_decode_logs(&body(scope, service, records), Encoding::Json).unwrap()
}

pub(crate) fn with(mut record: Value, more: &Value) -> Value {
    for (key, value) in more.as_object().unwrap() {
        record[key] = value.clone();
    }
    record
}

/// An event of Claude Code: its name bare as attribute and with its prefix as body.
pub(crate) fn claude(at: u64, event: &str, more: Value) -> Value {
    let mut attributes = json!({ "session.id": "s-1", "prompt.id": "p-1", "event.name": event });
    attributes.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    with(record(at, &attributes), &json!({ "body": { "stringValue": format!("claude_code.{event}") } }))
}

pub(crate) fn claude_request(at: u64) -> Value {
    claude(
        at,
        "api_request",
        json!({
            "model": "claude-sonnet-4-5-20250929", "input_tokens": "5", "output_tokens": 700,
            "cache_read_tokens": 128_955, "cache_creation_tokens": "1253", "cost_usd": 0.044,
            "duration_ms": "1500", "query_source": "sdk",
        }),
    )
}

/// All rows, of which there must be so many.
pub(crate) fn all<const N: usize>(decoded: &Decoded) -> [Row; N] {
    let found: Vec<Row> = rows(&decoded.spans).collect();
    found.try_into().map_err(|found: Vec<Row>| found.len()).unwrap()
}

pub(crate) fn tokens(row: &Row) -> [Option<i64>; 6] {
    ["input_tokens", "input_uncached", "cache_read", "cache_write", "output_tokens", "reasoning_tokens"]
        .map(|column| row.int(column))
}

/// T01 by Claude Code's logs: its input leaves the cache out, its numbers are text, its time is the call's
/// end; what a person decided is no tool's time, and a message's text is nowhere.
#[test]
fn claude_code() {
    let decoded = decode(
        "com.anthropic.claude_code.events",
        "claude-code",
        &[
            claude(0, "user_prompt", json!({ "prompt": "SECRET", "prompt_length": "6" })),
            claude(SECOND, "tool_decision", json!({ "tool_name": "Bash", "decision": "accept" })),
            claude_request(2 * SECOND),
            claude(
                3 * SECOND,
                "tool_result",
                json!({
                    "tool_name": "Bash", "tool_use_id": "toolu_1", "success": "false", "duration_ms": "85",
                    "tool_parameters": "{\"command\":\"SECRET\"}", "tool_result_size_bytes": "2",
                }),
            ),
            claude(
                4 * SECOND,
                "api_error",
                json!({
                    "model": "claude-sonnet-4-5", "error": "SECRET rate limit", "status_code": "429",
                    "duration_ms": 165, "attempt": 2, "user.email": "SECRET",
                }),
            ),
            claude(4 * SECOND, "api_retries_exhausted", json!({ "status_code": 429, "total_attempts": 2 })),
            claude(5 * SECOND, "assistant_response", json!({ "response": "SECRET" })),
        ],
    );
    assert_eq!((decoded.received, decoded.rejected, decoded.passed_over), (3, 0, 4));
    let message = decoded.message.as_deref();
    assert_eq!(message, Some("4 log records tell of no model or tool call and are not stored"));
    let all = all(&decoded);
    let [call, tool, error] = &all;
    assert_eq!(tokens(call), [Some(130_213), Some(5), Some(128_955), Some(1_253), Some(700), Some(0)]);
    assert_eq!(call.text("input_basis"), Some("exclusive: Claude Code has four separate counts"));
    for (column, wanted) in [
        ("kind", "model_call"),
        ("name", "claude_code.api_request"),
        ("status", "ok"),
        ("provider", "anthropic"),
        ("model", "claude-sonnet-4-5-20250929"),
        ("session_id", "s-1"),
        ("run_key", "p-1"),
        ("signal", "log"),
        ("dialect", "claude-code-logs"),
        ("workflow", "claude-code"),
        ("step", "sdk"),
    ] {
        assert_eq!(call.text(column), Some(wanted), "{column}");
    }
    assert_eq!(call.int("start_unix_nano"), Some((START + SECOND / 2).cast_signed()));
    assert_eq!(call.float("duration_ms"), Some(1500.0));
    assert_eq!((call.int("attempt"), call.int("retries")), (None, None));
    assert_eq!((tool.text("kind"), tool.text("tool")), (Some("tool_call"), Some("Bash")));
    assert_eq!((tool.text("status"), tool.text("tool_call_id")), (Some("error"), Some("toolu_1")));
    assert_eq!((tool.float("duration_ms"), tool.int("payload_bytes")), (Some(85.0), Some(2)));
    assert_eq!((error.text("kind"), error.text("status")), (Some("model_call"), Some("error")));
    assert_eq!((error.int("http_status"), error.text("error_type")), (Some(429), Some("throttled")));
    assert_eq!((error.int("attempt"), error.int("retries"), tokens(error)), (Some(2), None, [None; 6]));
    for row in [call, tool, error] {
        assert_eq!((row.text("parent_span_id"), row.text("trace_id")), (None, call.text("trace_id")));
        assert!(!format!("{:?}", row.batch).contains("SECRET"));
    }
}

/// The event is found by each of the places where versions put its name; a name without the prefix and
/// without what the event carries is anybody's.
#[test]
fn names_of_events() {
    let attributes = |more: Value| {
        let mut all = json!({ "input_tokens": 7, "output_tokens": 1, "cache_read_tokens": 0, "cache_creation_tokens": 0 });
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        record(0, &all)
    };
    let bare = || attributes(json!({}));
    for told in [
        attributes(json!({ "event.name": "claude_code.api_request" })),
        attributes(json!({ "event.name": "api_request" })),
        with(bare(), &json!({ "eventName": "claude_code.api_request" })),
        with(bare(), &json!({ "body": { "stringValue": "claude_code.api_request" } })),
    ] {
        let decoded = decode("", "agent", &[told]);
        assert_eq!((decoded.received, decoded.passed_over), (1, 0));
        assert_eq!(tokens(&rows(&decoded.spans).next().unwrap())[0], Some(7));
    }
    let others = [
        bare(),
        record(0, &json!({ "event.name": "api_request", "path": "/" })),
        record(0, &json!({ "event.name": "api_error", "status_code": 500 })),
        with(record(0, &json!({})), &json!({ "body": { "kvlistValue": { "values": [] } } })),
    ];
    let decoded = decode("", "web-server", &others);
    assert_eq!((decoded.received, decoded.passed_over, decoded.spans.num_rows()), (0, 4, 0));
}

/// An event of Codex: a line of its source where the name belongs, no time but that of collection.
pub(crate) fn codex(at: u64, event: &str, more: Value) -> Value {
    let mut attributes =
        json!({ "conversation.id": "c-1", "model": "gpt-5", "slug": "gpt-5", "event.name": event });
    attributes.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let at = (START + at).to_string();
    with(
        record(0, &attributes),
        &json!({ "timeUnixNano": "0", "observedTimeUnixNano": at,
                 "eventName": "event otel/src/events/session_telemetry.rs:837" }),
    )
}

/// T05 by Codex's logs: a refused request and the end of the answer's stream are two attempts of one call;
/// tokens stand on the second alone, cached ones within the input and reasoning within the output.
#[test]
fn codex_cli() {
    let in_trace = |record: Value| with(record, &json!({ "traceId": TRACE, "spanId": SPAN }));
    let decoded = decode(
        "codex_otel.log_only",
        "codex_exec",
        &[
            codex(0, "codex.conversation_starts", json!({ "provider_name": "fake" })),
            codex(0, "codex.user_prompt", json!({ "prompt": "SECRET" })),
            codex(
                0,
                "codex.api_request",
                json!({
                    "endpoint": "/models", "http.response.status_code": 404, "duration_ms": "3", "attempt": 0,
                }),
            ),
            in_trace(codex(
                SECOND,
                "codex.api_request",
                json!({
                    "endpoint": "/responses", "http.response.status_code": 429, "error.message": "SECRET",
                    "duration_ms": "34", "attempt": 0,
                }),
            )),
            in_trace(codex(
                2 * SECOND,
                "codex.api_request",
                json!({
                    "endpoint": "/responses", "http.response.status_code": 200, "duration_ms": "30", "attempt": 0,
                }),
            )),
            codex(
                2 * SECOND,
                "codex.sse_event",
                json!({ "event.kind": "response.created", "duration_ms": "0" }),
            ),
            codex(
                3 * SECOND,
                "codex.sse_event",
                json!({ "event.kind": "response.completed", "duration_ms": "0" }),
            ),
            codex(
                3 * SECOND,
                "codex.sse_event",
                json!({
                    "event.kind": "response.completed", "input_token_count": "8647", "output_token_count": "192",
                    "cached_token_count": 5120, "reasoning_token_count": 128, "tool_token_count": "8839",
                    "ttft_ms": 72,
                }),
            ),
            codex(
                3 * SECOND,
                "codex.tool_decision",
                json!({ "tool_name": "exec_command", "decision": "approved" }),
            ),
            codex(
                4 * SECOND,
                "codex.tool_result",
                json!({
                    "tool_name": "exec_command", "call_id": "call_1", "duration_ms": "64", "success": "true",
                    "arguments": "SECRET", "output": "SECRET",
                }),
            ),
            codex(
                5 * SECOND,
                "codex.sse_event",
                json!({ "error.message": "idle timeout", "duration_ms": "9" }),
            ),
        ],
    );
    assert_eq!((decoded.received, decoded.passed_over), (4, 7));
    let all = all(&decoded);
    let [refused, call, tool, broken] = &all;
    assert_eq!((refused.text("kind"), refused.text("status")), (Some("model_call"), Some("error")));
    assert_eq!((refused.int("http_status"), refused.text("error_type")), (Some(429), Some("throttled")));
    assert_eq!((refused.float("duration_ms"), refused.text("trace_id")), (Some(34.0), Some(TRACE)));
    assert_ne!(refused.text("span_id"), Some(SPAN));
    assert_eq!(tokens(call), [Some(8647), Some(3527), Some(5120), Some(0), Some(192), Some(128)]);
    assert_eq!(call.text("input_basis"), Some("inclusive: the provider's count, cache and all"));
    assert_eq!((call.text("status"), call.text("provider")), (Some("ok"), Some("openai")));
    assert_eq!((call.float("duration_ms"), call.float("ttft_ms")), (None, Some(72.0)));
    assert_eq!(call.int("start_unix_nano"), Some((START + 3 * SECOND).cast_signed()));
    assert!(call.quality().contains(&"no_duration".to_owned()));
    assert_eq!((refused.int("retries"), call.int("retries")), (Some(0), Some(0)));
    assert_eq!((tool.text("tool"), tool.text("status")), (Some("exec_command"), Some("ok")));
    assert_eq!((broken.text("status"), broken.text("error_type")), (Some("error"), Some("timeout")));
    for row in &all {
        assert_eq!((row.text("run_key"), row.text("session_id")), (Some("c-1"), Some("c-1")));
        assert_eq!(row.text("name").map(|name| name.starts_with("codex.")), Some(true));
        assert!(!format!("{:?}", row.batch).contains("SECRET"));
    }
}

pub(crate) fn gemini(at: u64, event: &str, more: Value) -> Value {
    let mut attributes = json!({ "session.id": "g-1", "auth_type": "gemini-api-key", "prompt_id": "g-1########2", "event.name": event });
    attributes.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    with(
        record(at, &attributes),
        &json!({ "body": { "stringValue": "API response from gemini. Status: 200." } }),
    )
}

/// Gemini's thoughts join the output, cached tokens stay within the input, tokens of the provider's tools
/// join it; OpenTelemetry's event of the same answer is not a second call.
#[test]
fn gemini_cli() {
    let details = json!({
        "gen_ai.operation.name": "generate_content", "gen_ai.request.model": "gemini-2.5-pro",
        "gen_ai.usage.input_tokens": 5001, "gen_ai.usage.output_tokens": 71,
        "gen_ai.input.messages": "SECRET",
    });
    let decoded = decode(
        "gemini-cli",
        "gemini-cli",
        &[
            gemini(
                0,
                "gemini_cli.api_request",
                json!({ "model": "gemini-2.5-pro", "request_text": "SECRET" }),
            ),
            gemini(
                SECOND,
                "gemini_cli.api_error",
                json!({
                    "model": "gemini-2.5-pro", "status_code": 429, "error.type": "ApiError", "duration_ms": 19,
                    "error": "SECRET", "error.message": "SECRET",
                }),
            ),
            gemini(
                2 * SECOND,
                "gemini_cli.api_response",
                json!({
                    "model": "gemini-2.5-pro-001", "duration_ms": 337, "input_token_count": 5001,
                    "output_token_count": 71, "cached_content_token_count": 1001, "thoughts_token_count": 301,
                    "tool_token_count": 10, "total_token_count": 5383, "status_code": 200,
                    "finish_reasons": ["stop"], "role": "main", "response_text": "SECRET",
                }),
            ),
            gemini(2 * SECOND, "gen_ai.client.inference.operation.details", details),
            gemini(
                3 * SECOND,
                "gemini_cli.tool_call",
                json!({
                    "function_name": "run_shell_command", "duration_ms": 176, "success": true, "decision": "accept",
                    "content_length": 77, "function_args": "SECRET",
                }),
            ),
            gemini(
                3 * SECOND,
                "gemini_cli.tool_call",
                json!({
                    "function_name": "write_file", "duration_ms": 9000, "success": false, "decision": "reject",
                }),
            ),
        ],
    );
    assert_eq!((decoded.received, decoded.passed_over), (3, 3));
    let all = all(&decoded);
    let [refused, call, tool] = &all;
    assert_eq!((refused.int("http_status"), refused.text("error_type")), (Some(429), Some("throttled")));
    assert_eq!(tokens(call), [Some(5011), Some(4010), Some(1001), Some(0), Some(372), Some(301)]);
    assert_eq!((call.text("provider"), call.text("step")), (Some("gcp.gemini"), Some("main")));
    assert_eq!((call.float("duration_ms"), call.text("finish_reason")), (Some(337.0), Some("stop")));
    assert_eq!((tool.text("tool"), tool.int("payload_bytes")), (Some("run_shell_command"), Some(77)));
    for row in &all {
        assert_eq!(
            (row.text("run_key"), row.text("dialect")),
            (Some("g-1########2"), Some("gemini-cli-logs"))
        );
        assert!(!format!("{:?}", row.batch).contains("SECRET"));
    }
}

/// A descendant of it that counts as `OpenAI` does: the total shows that the output holds the thoughts.
#[test]
fn thoughts_within_the_output() {
    let told = json!({
        "event.name": "qwen-code.api_response", "input_token_count": 1000, "output_token_count": 400,
        "thoughts_token_count": 100, "cached_content_token_count": 0, "total_token_count": 1400,
    });
    let decoded = decode("qwen-code", "qwen-code", &[record(0, &told)]);
    let row = rows(&decoded.spans).next().unwrap();
    assert_eq!(tokens(&row), [Some(1000), Some(1000), Some(0), Some(0), Some(400), Some(100)]);
}

/// OpenTelemetry's events: a call by its usage, a failure by its error, each under the id of the span that
/// it was logged in; one of a request that has no answer yet tells of nothing.
#[test]
fn genai_events() {
    let event = |name: &str, more: Value| {
        let mut attributes = json!({ "gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-5-mini" });
        attributes.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        with(record(0, &attributes), &json!({ "eventName": name, "traceId": TRACE, "spanId": SPAN }))
    };
    let details = "gen_ai.client.inference.operation.details";
    let usage = json!({
        "gen_ai.usage.input_tokens": 900, "gen_ai.usage.output_tokens": 30,
        "gen_ai.usage.cache_read.input_tokens": 600, "gen_ai.output.messages": "SECRET",
    });
    let decoded = decode(
        "a.library",
        "invoices",
        &[
            event(details, json!({})),
            event(details, usage.clone()),
            event(
                "gen_ai.client.operation.exception",
                json!({ "exception.type": "RateLimitError", "exception.message": "SECRET" }),
            ),
            event(
                "gen_ai.client.operation.exception",
                json!({ "gen_ai.operation.name": "execute_tool", "exception.type": "X" }),
            ),
            event("gen_ai.evaluation.result", usage),
        ],
    );
    assert_eq!((decoded.received, decoded.passed_over), (2, 3));
    let all = all(&decoded);
    let [call, failed] = &all;
    assert_eq!(tokens(call), [Some(900), Some(300), Some(600), Some(0), Some(30), None]);
    assert_eq!((call.text("trace_id"), call.text("span_id")), (Some(TRACE), Some(SPAN)));
    assert_eq!((failed.text("status"), failed.text("error_type")), (Some("error"), Some("throttled")));
    assert!(!format!("{:?}", call.batch).contains("SECRET"));
}

/// Codex's spans of the same calls: the counts of each answer, once, and the key that the logs have too.
#[test]
fn codex_spans() {
    let named = |name: &str, more: Vec<KeyValue>| {
        row_of(Span { name: name.to_owned(), ..span(more) }, "codex_exec", "")
    };
    let answer = named(
        "handle_responses",
        vec![
            attribute("thread.id", 4),
            attribute("gen_ai.usage.input_tokens", 8647),
            attribute("gen_ai.usage.cache_read.input_tokens", 5120),
            attribute("gen_ai.usage.cache_write.input_tokens", 0),
            attribute("gen_ai.usage.output_tokens", 192),
            attribute("codex.usage.reasoning_output_tokens", 128),
            attribute("codex.usage.total_tokens", 8839),
        ],
    );
    assert_eq!((answer.text("kind"), answer.text("run_key")), (Some("model_call"), None));
    assert_eq!(tokens(&answer), [Some(8647), Some(3527), Some(5120), Some(0), Some(192), Some(128)]);
    let turn = named(
        "session_task.turn",
        vec![
            attribute("thread.id", 4),
            attribute("conversation.id", "c-1"),
            attribute("model", "gpt-5"),
            attribute("codex.turn.token_usage.input_tokens", 17_109),
            attribute("codex.turn.token_usage.output_tokens", 663),
        ],
    );
    assert_eq!((turn.text("kind"), turn.text("run_key")), (Some("other"), Some("c-1")));
    assert_eq!((tokens(&turn), turn.text("workflow")), ([None; 6], Some("finance-agents")));
    assert_eq!(named("handle_responses", vec![attribute("thread.id", 4)]).text("kind"), Some("other"));
}
