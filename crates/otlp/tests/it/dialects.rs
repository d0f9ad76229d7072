//! What dialect files can say, and what the repository's say.

use opentelemetry_proto::tonic::trace::v1::span::Event;
use opentelemetry_proto::tonic::trace::v1::{Span, Status};
use plimsoll_otlp::{Decoder, Dialects, Encoding, OtlpError, Receipt};
use prost::Message;

use crate::files::schema;
use crate::support::{Row, START, attribute, decoder_with, request, row, row_of, span};

/// Old and new spellings of OpenTelemetry's conventions are the same row.
#[test]
fn old_and_new_spellings() {
    let new = row(vec![
        attribute("gen_ai.operation.name", "chat"),
        attribute("gen_ai.provider.name", "azure.ai.openai"),
        attribute("gen_ai.request.model", "gpt-5.2"),
        attribute("gen_ai.usage.input_tokens", 100),
        attribute("gen_ai.usage.output_tokens", 10),
        attribute("gen_ai.usage.cache_read.input_tokens", 60),
        attribute("gen_ai.usage.cache_write.input_tokens", 30),
        attribute("http.response.status_code", 200),
    ]);
    let old = row(vec![
        attribute("gen_ai.operation.name", "chat"),
        attribute("gen_ai.system", "az.ai.openai"),
        attribute("gen_ai.request.model", "gpt-5.2"),
        attribute("gen_ai.usage.prompt_tokens", "100"),
        attribute("gen_ai.usage.completion_tokens", "10"),
        attribute("gen_ai.usage.cache_read_input_tokens", 60.0),
        attribute("gen_ai.usage.cache_creation_input_tokens", 30.0),
        attribute("http.status_code", "200"),
    ]);
    for row in [new, old] {
        assert_eq!(
            (row.text("kind"), row.text("provider"), row.text("model")),
            (Some("model_call"), Some("azure.ai.openai"), Some("gpt-5.2"))
        );
        let tokens = ["input_tokens", "input_uncached", "cache_read", "cache_write", "output_tokens"]
            .map(|name| row.int(name));
        assert_eq!(tokens, [Some(100), Some(10), Some(60), Some(30), Some(10)]);
        assert_eq!(row.int("http_status"), Some(200));
        assert_eq!(row.text("error_type"), None);
        assert_eq!(row.text("input_basis"), Some("assumed: inclusive, as OpenTelemetry has it"));
        assert_eq!(row.attributes(), [("deployment.environment.name".to_owned(), "prod".to_owned())]);
    }
}

/// Every documented attribute of Plimsoll's own reaches its column.
#[test]
fn plimsoll_attributes() {
    let row = row(vec![
        attribute("plimsoll.tenant", 42),
        attribute("plimsoll.request_class", "interactive"),
        attribute("plimsoll.tier", 1),
        attribute("plimsoll.admission", "reduced"),
        attribute("plimsoll.queue_wait_ms", 12.5),
        attribute("plimsoll.retrieved_tokens", 900),
        attribute("plimsoll.prompt.history_tokens", 300),
        attribute("plimsoll.prompt.tool_result_tokens", 200),
        attribute("plimsoll.degraded", &["short_output", "no_tools"][..]),
        attribute("plimsoll.outcome", "resolved"),
        attribute("plimsoll.user.waiting", true),
        attribute("plimsoll.run.parked", "false"),
        attribute("plimsoll.run.resumed_from_step", 3),
        attribute("plimsoll.prompt_version", "v7"),
        attribute("plimsoll.stream.stall_ms", 40),
        attribute("plimsoll.tool.payload_bytes", 2048),
        attribute("plimsoll.tool.concurrency_at_dispatch", 4),
        attribute("plimsoll.tool.idempotency_replayed", true),
        attribute("plimsoll.retries", 2),
    ]);
    for (column, wanted) in [
        ("tenant", "42"),
        ("request_class", "interactive"),
        ("admission", "reduced"),
        ("degraded", "short_output,no_tools"),
        ("outcome", "resolved"),
        ("prompt_version", "v7"),
    ] {
        assert_eq!(row.text(column), Some(wanted), "{column}");
    }
    for (column, wanted) in [
        ("tier", 1),
        ("retrieved_tokens", 900),
        ("history_tokens", 300),
        ("tool_result_tokens", 200),
        ("resumed_from_step", 3),
        ("payload_bytes", 2048),
        ("concurrency_at_dispatch", 4),
        ("retries", 2),
    ] {
        assert_eq!(row.int(column), Some(wanted), "{column}");
    }
    assert_eq!((row.float("queue_wait_ms"), row.float("stall_ms")), (Some(12.5), Some(40.0)));
    assert_eq!(
        ["user_waiting", "parked", "idempotency_replayed"].map(|name| row.flag(name)),
        [Some(true), Some(false), Some(true)]
    );
}

/// What providers' headers say of limits is read from lists of one text.
#[test]
fn limit_headers() {
    let header = |name: &str, value: &str| attribute(&format!("http.response.header.{name}"), &[value][..]);
    let row = row(vec![
        header("x-ratelimit-limit-requests", "500"),
        header("x-ratelimit-remaining-requests", "12"),
        header("anthropic-ratelimit-input-tokens-limit", "750000"),
        header("anthropic-ratelimit-output-tokens-remaining", "0"),
        header("retry-after", "1.5"),
    ]);
    let limits = ["limit_requests", "remaining_requests", "limit_tokens", "remaining_output_tokens"]
        .map(|name| row.int(name));
    assert_eq!(limits, [Some(500), Some(12), Some(750_000), Some(0)]);
    assert_eq!(row.float("retry_after_ms"), Some(1500.0));
}

/// Failures fall into few classes whatever clients call them, and other names stay as sent.
#[test]
fn error_classes() {
    for (sent, wanted) in [
        ("429", "throttled"),
        ("RateLimitError", "throttled"),
        ("ThrottlingException", "throttled"),
        ("rate_limit_error", "throttled"),
        ("529", "capacity"),
        ("overloaded_error", "capacity"),
        ("APITimeoutError", "timeout"),
        ("AuthenticationError", "auth"),
        ("content_filter", "content_filter"),
        ("asyncio.CancelledError", "cancelled"),
        ("ValueError", "ValueError"),
    ] {
        let row = row_of(
            Span {
                status: Some(Status { code: 2, ..Default::default() }),
                ..span(vec![attribute("error.type", sent)])
            },
            "s",
            "",
        );
        assert_eq!((row.text("error_type"), row.text("status")), (Some(wanted), Some("error")), "{sent}");
    }
    let other = row(vec![attribute("error.type", "_OTHER"), attribute("http.response.status_code", 429)]);
    assert_eq!(other.text("error_type"), Some("throttled"));
    let event = Event {
        name: "exception".to_owned(),
        attributes: vec![attribute("exception.type", "openai.RateLimitError")],
        ..Default::default()
    };
    let thrown = row_of(Span { events: vec![event], ..span(Vec::new()) }, "s", "");
    assert_eq!(thrown.text("error_type"), Some("throttled"));
}

/// The host settles the provider and its region; a framework's name is no provider.
#[test]
fn providers_and_regions() {
    for (said, host, model, provider, region) in [
        (
            "strands-agents",
            "bedrock-runtime.eu-west-1.amazonaws.com",
            "claude-sonnet-4-5",
            Some("aws.bedrock"),
            Some("eu-west-1"),
        ),
        ("openai", "acme.openai.azure.com", "gpt52-finance", Some("azure.ai.openai"), None),
        (
            "google",
            "us-central1-aiplatform.googleapis.com",
            "gemini-3",
            Some("gcp.vertex_ai"),
            Some("us-central1"),
        ),
        ("Anthropic", "api.anthropic.com", "claude-sonnet-4-5", Some("anthropic"), None),
        ("openai", "eu.api.openai.com", "gpt-5", Some("openai"), Some("eu")),
        (
            "langchain",
            "10.0.0.7",
            "arn:aws:bedrock:us-west-2:1:inference-profile/us.x",
            Some("aws.bedrock"),
            Some("us-west-2"),
        ),
        ("unknown", "10.0.0.7", "my-model", None, None),
        ("unknown", "10.0.0.7", "gpt-5-mini", Some("openai"), None),
    ] {
        let row = row(vec![
            attribute("gen_ai.operation.name", "chat"),
            attribute("gen_ai.system", said),
            attribute("server.address", host),
            attribute("gen_ai.request.model", model),
        ]);
        assert_eq!((row.text("provider"), row.text("region")), (provider, region), "{said} {host} {model}");
    }
}

/// Kinds of spans by what they carry, in the order of facts/dialects.md par. 2.
#[test]
fn kinds() {
    let kind = |kind: i32, attributes: Vec<_>| {
        row_of(Span { kind, ..span(attributes) }, "s", "").text("kind").unwrap().to_owned()
    };
    for (operation, wanted) in [
        ("chat", "model_call"),
        ("generate_content", "model_call"),
        ("embeddings", "embedding"),
        ("execute_tool", "tool_call"),
        ("invoke_agent", "agent"),
        ("invoke_workflow", "workflow"),
        ("retrieval", "retrieval"),
        ("rerank", "rerank"),
        ("plan", "step"),
        ("create_agent", "other"),
        ("fetch_response", "other"),
        ("never heard of", "other"),
    ] {
        assert_eq!(kind(3, vec![attribute("gen_ai.operation.name", operation)]), wanted, "{operation}");
    }
    assert_eq!(kind(2, vec![attribute("http.request.method", "POST")]), "request");
    assert_eq!(kind(2, vec![attribute("gen_ai.operation.name", "chat")]), "model_call");
    assert_eq!(
        kind(
            1,
            vec![
                attribute("openinference.span.kind", "LLM"),
                attribute("gen_ai.operation.name", "invoke_agent")
            ]
        ),
        "model_call"
    );
    assert_eq!(kind(1, vec![attribute("gen_ai.tool.name", "lookup")]), "tool_call");
    assert_eq!(
        kind(3, vec![attribute("gen_ai.request.model", "m"), attribute("gen_ai.usage.output_tokens", 3)]),
        "model_call"
    );
    assert_eq!(kind(1, Vec::new()), "other");
}

/// A time to the first token is one only within the call, and not all of it.
#[test]
fn first_tokens() {
    let ttft = |seconds: f64, more: Vec<_>| {
        let mut attributes = vec![
            attribute("gen_ai.response.time_to_first_chunk", seconds),
            attribute("gen_ai.usage.output_tokens", 50),
        ];
        attributes.extend(more);
        let row = row(attributes);
        (row.float("ttft_ms"), row.quality())
    };
    let bad = vec!["bad_ttft".to_owned()];
    assert_eq!(ttft(0.5, Vec::new()), (Some(500.0), vec![]));
    assert_eq!(ttft(2.0, Vec::new()), (None, bad.clone()));
    assert_eq!(ttft(0.0, Vec::new()), (None, bad.clone()));
    assert_eq!(ttft(9.0, Vec::new()), (None, bad));
    assert_eq!(ttft(0.5, vec![attribute("gen_ai.request.stream", false)]), (None, vec![]));
    let event = Event {
        name: "First Token Stream Event".to_owned(),
        time_unix_nano: START + 250_000_000,
        ..Default::default()
    };
    let streamed = row_of(
        Span { events: vec![event], ..span(vec![attribute("openinference.span.kind", "LLM")]) },
        "s",
        "",
    );
    assert_eq!(streamed.float("ttft_ms"), Some(250.0));
}

/// T06: a stream whose client did not know its usage and wrote zeros has none.
#[test]
fn zero_usage_is_missing() {
    let row = row(vec![
        attribute("gen_ai.operation.name", "chat"),
        attribute("gen_ai.usage.input_tokens", 0),
        attribute("gen_ai.usage.output_tokens", 0),
    ]);
    assert_eq!(
        (row.int("input_tokens"), row.int("output_tokens"), row.int("input_uncached")),
        (None, None, None)
    );
    assert_eq!(row.quality(), ["zero_usage"]);
}

/// Content and secrets are in no column and in no map, on any span.
#[test]
fn content_is_not_stored() {
    let secret = "the customer said";
    let keys = [
        "gen_ai.input.messages",
        "gen_ai.prompt.0.content",
        "gen_ai.completion.3.tool_calls.1.arguments",
        "input.value",
        "output.value",
        "llm.input_messages.0.message.content",
        "gen_ai.tool.call.arguments",
        "gen_ai.tool.call.result",
        "traceloop.entity.input",
        "ai.prompt.messages",
        "langfuse.observation.output",
        "http.request.header.authorization",
        "my.api_key",
        "url.full",
    ];
    let row = row(keys.iter().map(|key| attribute(key, secret)).collect());
    assert_eq!(row.attributes(), [("deployment.environment.name".to_owned(), "prod".to_owned())]);
}

/// A user's file goes before ours: other names, JSON in attributes, scopes, versions and units.
#[test]
fn a_users_dialect() {
    let decoder = decoder_with(&[(
        "mine.toml",
        r#"
dialect = "mine"
scopes = ["acme.*"]
[[field]]
column = "workflow"
rank = 0
from = ["acme.flow", { attribute = "acme.meta", json = "flow/name" }]
[[field]]
column = "queue_wait_ms"
rank = 0
from = [
  { attribute = "acme.wait", unit = "us", scope = ["acme.fast"], version = ">=2" },
  { attribute = "acme.wait", unit = "s" },
]
[[kind]]
rank = 0
attribute = "acme.type"
values.model_call = ["ask*"]
[[input]]
basis = "exclusive"
rule = "Acme counts what it pays"
scope = ["acme.*"]
"#,
    )]);
    let decode = |scope: &str, version: &str, attributes| {
        let body = request(vec![span(attributes)], scope, version).encode_to_vec();
        let decoded =
            decoder.decode(&body, Encoding::Protobuf, &Receipt { received_unix_micros: 0, source: "test" });
        Row { batch: decoded.unwrap().spans, index: 0 }
    };
    let asked = decode(
        "acme.fast",
        "2.1",
        vec![
            attribute("acme.type", "ask-again"),
            attribute("acme.meta", r#"{"flow": {"name": "billing"}}"#),
            attribute("acme.wait", 1500),
            attribute("gen_ai.usage.input_tokens", 100),
            attribute("gen_ai.usage.output_tokens", 1),
            attribute("gen_ai.usage.cache_read.input_tokens", 40),
        ],
    );
    assert_eq!(
        (asked.text("kind"), asked.text("workflow"), asked.text("dialect")),
        (Some("model_call"), Some("billing"), Some("mine"))
    );
    assert_eq!(asked.float("queue_wait_ms"), Some(1.5));
    assert_eq!((asked.int("input_tokens"), asked.int("input_uncached")), (Some(140), Some(100)));
    assert_eq!(asked.text("input_basis"), Some("exclusive: Acme counts what it pays"));
    let slow = decode("acme.fast", "1.9", vec![attribute("acme.wait", 1.5)]);
    assert_eq!(slow.float("queue_wait_ms"), Some(1500.0));
}

/// A faulty file is told by its name and line.
#[test]
fn faulty_files() {
    let fault = |text: &str| {
        let loaded = Dialects::load([("mine.toml".to_owned(), text.to_owned())]);
        let error = match loaded {
            Err(error) => OtlpError::from(error),
            Ok(dialects) => Decoder::new(dialects, schema("spans"), schema("quarantine")).unwrap_err(),
        };
        error.to_string()
    };
    for (text, wanted) in [
        ("dialect = \"x\"\nshoe = 1\n", "mine.toml:2: unknown field `shoe`"),
        (
            "dialect = \"x\"\n\n[[field]]\ncolumn = \"shoe\"\nfrom = [\"a\"]\n",
            "mine.toml:3: no column `shoe`",
        ),
        (
            "dialect = \"x\"\n[[field]]\ncolumn = \"kind\"\nfrom = [\"a\"]\n",
            "mine.toml:2: column `kind` is filled by the decoder",
        ),
        (
            "dialect = \"x\"\n[[field]]\ncolumn = \"ttft_ms\"\nfrom = [\"a\"]\n",
            "mine.toml:2: a time needs its `unit`",
        ),
        (
            "dialect = \"x\"\n[[field]]\ncolumn = \"model\"\nfrom = [{ attribute = \"a\", resource = \"b\" }]\n",
            "mine.toml:4: an alias is one of",
        ),
        ("dialect = \"x\"\n[[kind]]\nattribute = \"a\"\n", "mine.toml:2: a kind rule has either"),
        ("dialect = \"x\"\n[[mark]]\nattribute = \"a\"\n", "mine.toml:2: a mark gives a code"),
        (
            "dialect = \"x\"\n\n[[mark]]\ncode = \"odd\"\n",
            "mine.toml:3: no mark `odd`: write one of pending_span,",
        ),
        ("dialect = \"x\"\n[[zero]]\nfilled = [\"model\"]\n", "mine.toml:2: it corrects nothing"),
        (
            "dialect = \"x\"\n[[doubt]]\ncolumns = [\"model\"]\nvalues = [\"a\"]\n",
            "mine.toml:2: `values` are those",
        ),
    ] {
        let fault = fault(text);
        assert!(fault.starts_with(wanted), "{fault}");
    }
}
