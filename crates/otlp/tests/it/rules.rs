//! What rules can ask of a span beyond its attributes' names, and what they do to its counts.

use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::Link;
use plimsoll_otlp::Encoding;

use crate::support::{Row, START, attribute, row, row_of, span, try_decode};

fn named(name: &str, attributes: Vec<KeyValue>) -> Span {
    Span { name: name.to_owned(), ..span(attributes) }
}

/// The facts that assembly reads from `quality` are told by what frameworks send, and by nothing else.
#[test]
fn marks() {
    let codes = |attributes| row(attributes).quality();
    assert_eq!(codes(vec![attribute("logfire.span_type", "pending_span")]), ["pending_span"]);
    assert!(codes(vec![attribute("logfire.span_type", "span")]).is_empty());
    assert_eq!(codes(vec![attribute("litellm.cache_hit", true)]), ["cache_hit"]);
    assert_eq!(codes(vec![attribute("litellm.cache_hit", "True")]), ["cache_hit"]);
    assert!(codes(vec![attribute("litellm.cache_hit", false)]).is_empty());
    assert!(codes(vec![attribute("litellm.cache_hit", "")]).is_empty());
    let beeai =
        |name| row_of(named(name, Vec::new()), "openinference.instrumentation.beeai", "0.1").quality();
    assert_eq!(beeai("backend.openai.chat.success-3"), ["lifecycle_span"]);
    assert_eq!(beeai("tool.search.finish-12"), ["lifecycle_span"]);
    assert!(beeai("backend.openai.chat.start-3").is_empty());
    assert!(row_of(named("x.success-3", Vec::new()), "other", "").quality().is_empty());
}

/// LiteLLM's own count of a stream is told from the provider's by the details that only the latter has.
#[test]
fn litellm_streams() {
    let call = |streams: &str, details: &str| {
        let usage =
            format!("{{'completion_tokens': 33, 'prompt_tokens': 250, 'prompt_tokens_details': {details}}}");
        let attributes = vec![
            attribute("gen_ai.operation.name", "chat"),
            attribute("gen_ai.usage.input_tokens", 250),
            attribute("gen_ai.usage.output_tokens", 33),
            attribute("llm.is_streaming", streams),
            attribute("metadata.usage_object", &*usage),
        ];
        row_of(span(attributes), "litellm", "")
    };
    assert_eq!(call("True", "None").quality(), ["usage_estimated"]);
    assert!(call("False", "None").quality().is_empty());
    let told = call("True", "{'audio_tokens': None, 'cached_tokens': 128}");
    assert!(told.quality().is_empty());
    assert_eq!((told.int("cache_read"), told.int("input_uncached")), (Some(128), Some(122)));
}

/// The root's name is the workflow where Langfuse has no other, and a child's name is not.
#[test]
fn names_of_roots() {
    let workflow = |parent: Vec<u8>| {
        let span = Span { parent_span_id: parent, ..named("invoices", Vec::new()) };
        row_of(span, "langfuse-sdk", "5.0").text("workflow").map(str::to_owned)
    };
    assert_eq!(workflow(Vec::new()).as_deref(), Some("invoices"));
    assert_eq!(workflow(vec![0; 8]).as_deref(), Some("invoices"));
    assert_eq!(workflow(vec![7; 8]), None);
}

/// A name with braces is a name like others, and says which spans an attribute is read on.
#[test]
fn templates() {
    let logfire = |name: &str, more: Vec<KeyValue>| {
        let mut attributes = vec![attribute("name", "what it says")];
        attributes.extend(more);
        row_of(named(name, attributes), "logfire.openai_agents", "5.4.0")
    };
    let tool = logfire("Function: {name}", Vec::new());
    assert_eq!((tool.text("kind"), tool.text("tool")), (Some("tool_call"), Some("what it says")));
    assert_eq!((tool.text("workflow"), tool.text("step")), (None, None));
    let agent = logfire("Agent run: {name!r}", Vec::new());
    assert_eq!(
        (agent.text("kind"), agent.text("step"), agent.text("tool")),
        (Some("agent"), Some("what it says"), None)
    );
    let root = logfire("OpenAI Agents trace: {name}", Vec::new());
    assert_eq!((root.text("kind"), root.text("workflow")), (Some("workflow"), Some("what it says")));
    let usage = r#"{"input_tokens":12628,"output_tokens":1045,"cached_input_tokens":6016}"#;
    let turn = logfire(
        "Turn {turn} for agent x",
        vec![attribute("sdk_span_type", "turn"), attribute("usage", usage)],
    );
    assert_eq!(
        (turn.text("kind"), turn.int("input_tokens"), turn.int("output_tokens")),
        (Some("step"), None, None)
    );
}

/// The first link's trace has its column, in either encoding; an id that is none is no link.
#[test]
fn links() {
    let link = |byte: u8, len: usize| Link {
        trace_id: vec![byte; len],
        span_id: vec![byte; 8],
        ..Default::default()
    };
    let linked = row_of(Span { links: vec![link(0xab, 16), link(0xcd, 16)], ..span(Vec::new()) }, "s", "");
    assert_eq!(linked.text("link_trace_id"), Some("abababababababababababababababab"));
    assert_eq!(
        row_of(Span { links: vec![link(0xab, 9)], ..span(Vec::new()) }, "s", "").text("link_trace_id"),
        None
    );
    let body = format!(
        r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{"traceId":"5b8efff798038103d269b633813fc60c",
        "spanId":"eee19b7ec3c1b174","startTimeUnixNano":"{START}",
        "links":[{{"traceId":"ABABABABABABABABABABABABABABABAB","spanId":"eee19b7ec3c1b174"}}]}}]}}]}}]}}"#
    );
    let decoded = try_decode(body.as_bytes(), Encoding::Json).unwrap();
    let linked = Row { batch: decoded.spans, index: 0 };
    assert_eq!(linked.text("link_trace_id"), Some("abababababababababababababababab"));
}

/// `retry-after` is seconds or a date, which counts from the end of the span; a past one means now.
#[test]
fn retry_after() {
    let wait = |value: &str| {
        let row = row(vec![attribute("http.response.header.retry-after", &[value][..])]);
        (row.float("retry_after_ms"), row.quality())
    };
    assert_eq!(wait("1.5"), (Some(1500.0), vec![]));
    // The test's spans end at 22:13:22.
    assert_eq!(wait("Tue, 14 Nov 2023 22:13:52 GMT"), (Some(30_000.0), vec![]));
    assert_eq!(wait("Tue, 14 Nov 2023 22:13:02 GMT"), (Some(0.0), vec![]));
    assert_eq!(wait("soon"), (None, vec!["bad_number".to_owned()]));
}

/// Anthropic's output has no count of reasoning in it, wherever it is served; elsewhere a missing count
/// is no count.
#[test]
fn reasoning_of_anthropic() {
    let reasoning = |provider: &str, model: &str| {
        row(vec![
            attribute("gen_ai.operation.name", "chat"),
            attribute("gen_ai.provider.name", provider),
            attribute("gen_ai.request.model", model),
            attribute("gen_ai.usage.input_tokens", 100),
            attribute("gen_ai.usage.output_tokens", 10),
        ])
        .int("reasoning_tokens")
    };
    assert_eq!(reasoning("anthropic", "claude-sonnet-4-5"), Some(0));
    assert_eq!(reasoning("aws.bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"), Some(0));
    assert_eq!(reasoning("gcp.vertex_ai", "claude-haiku-4-5@20251001"), Some(0));
    assert_eq!(reasoning("aws.bedrock", "openai.gpt-oss-120b-1:0"), None);
    assert_eq!(reasoning("openai", "gpt-5-mini"), None);
}

/// Traceloop's output for Anthropic is null unless the span tells that it did not stream.
#[test]
fn traceloops_streams() {
    let output = |version: &str, more: Vec<KeyValue>| {
        let mut attributes = vec![
            attribute("llm.request.type", "completion"),
            attribute("gen_ai.system", "Anthropic"),
            attribute("gen_ai.request.model", "claude-sonnet-4-5"),
            attribute("gen_ai.usage.prompt_tokens", 4529),
            attribute("gen_ai.usage.completion_tokens", 256),
        ];
        attributes.extend(more);
        let row = row_of(span(attributes), "opentelemetry.instrumentation.anthropic", version);
        (row.int("output_tokens"), row.quality())
    };
    let role = || vec![attribute("gen_ai.completion.0.role", "assistant")];
    let doubted = (None, vec!["misreported".to_owned()]);
    assert_eq!(output("0.33.12", role()), (Some(256), vec![]));
    assert_eq!(output("0.33.12", Vec::new()), doubted);
    assert_eq!(output("0.40.14", role()), doubted);
    assert_eq!(output("0.62.4", Vec::new()), doubted);
}

/// Counts in text that was cut short are what stands before the cut, or null with a reason.
#[test]
fn counts_in_cut_text() {
    let call = |usage: &str| {
        row(vec![
            attribute("langfuse.observation.type", "generation"),
            attribute("langfuse.observation.usage_details", usage),
        ])
    };
    let cut = call(
        r#"{"prompt_tokens": 2113, "prompt_tokens_details": {"cached_tokens": 1792}, "completion_tokens": 20"#,
    );
    assert_eq!(
        (cut.int("input_tokens"), cut.int("cache_read"), cut.int("output_tokens")),
        (Some(2113), Some(1792), None)
    );
    assert_eq!((cut.int("cache_write"), cut.quality()), (None, vec!["json_cut".to_owned()]));
    let whole = call(r#"{"prompt_tokens": "2113", "completion_tokens": 204.0}"#);
    assert_eq!((whole.int("input_tokens"), whole.int("output_tokens")), (Some(2113), Some(204)));
    assert!(whole.quality().is_empty());
    let wild = call(r#"{"prompt_tokens": 9223372036854775808, "completion_tokens": NaN}"#);
    assert_eq!((wild.int("input_tokens"), wild.int("output_tokens")), (None, None));
    assert_eq!(wild.quality(), ["bad_number"]);
    // Nor does a zero stand in for a count that was sent and can't be read.
    let spoilt = row(vec![
        attribute("gen_ai.operation.name", "chat"),
        attribute("gen_ai.provider.name", "openai"),
        attribute("gen_ai.usage.input_tokens", 100),
        attribute("gen_ai.usage.cache_read.input_tokens", 40),
        attribute("gen_ai.usage.cache_write.input_tokens", -1),
    ]);
    assert_eq!((spoilt.int("cache_write"), spoilt.int("input_uncached")), (None, None));
    assert_eq!(spoilt.quality(), ["bad_number"]);
}

/// The trace is the run unless a client tells what its runs are told apart by.
#[test]
fn run_keys() {
    let key = |scope: &str, name: &str| {
        row_of(span(vec![attribute(name, "r-1")]), scope, "").text("run_key").map(str::to_owned)
    };
    assert_eq!(key("x", "plimsoll.run_id").as_deref(), Some("r-1"));
    assert_eq!(key("com.anthropic.claude_code", "prompt.id").as_deref(), Some("r-1"));
    assert_eq!(key("codex_otel", "conversation.id").as_deref(), Some("r-1"));
    assert_eq!(key("x", "prompt.id"), None);
}
