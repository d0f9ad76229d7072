//! What every span must be, whatever happened.

use std::collections::{BTreeMap, BTreeSet};

use opentelemetry_proto::tonic::trace::v1::Span;
use plimsoll_scenario::{Options, Scenario};

use super::company::{text, value, whole};

/// Two days from the first close on, at a third of the size.
fn spans() -> Vec<Span> {
    let options = Options {
        from: Some(jiff::civil::date(2026, 8, 31)),
        days: Some(2),
        scale: 0.3,
        ..Options::default()
    };
    let requests = Scenario::insurer().unwrap().generate(options).unwrap();
    let resources = requests.flat_map(|request| request.resource_spans);
    resources.flat_map(|resource| resource.scope_spans).flat_map(|scope| scope.spans).collect()
}

/// Protects assembly: ids have their lengths and are not zero, none stands twice, every parent is in
/// its trace, and a run has one root.
#[test]
fn ids_are_valid_and_traces_are_whole() {
    let spans = spans();
    let mut traces: BTreeMap<&[u8], Vec<&Span>> = BTreeMap::new();
    for span in &spans {
        assert_eq!((span.trace_id.len(), span.span_id.len()), (16, 8));
        assert!(span.trace_id.iter().any(|byte| *byte != 0) && span.span_id.iter().any(|byte| *byte != 0));
        assert!(span.start_time_unix_nano > 0 && span.end_time_unix_nano >= span.start_time_unix_nano);
        traces.entry(&span.trace_id).or_default().push(span);
    }
    for trace in traces.values() {
        let ids: BTreeSet<&[u8]> = trace.iter().map(|span| span.span_id.as_slice()).collect();
        assert_eq!(ids.len(), trace.len());
        let roots: Vec<_> = trace.iter().filter(|span| span.parent_span_id.is_empty()).collect();
        assert_eq!(roots.len(), 1);
        for span in trace {
            assert!(span.parent_span_id.is_empty() || ids.contains(span.parent_span_id.as_slice()));
            assert!(span.start_time_unix_nano >= roots[0].start_time_unix_nano);
            assert!(span.end_time_unix_nano <= roots[0].end_time_unix_nano);
        }
    }
}

/// Protects people: no prompt, completion, tool argument or result is ever made.
#[test]
fn no_attribute_holds_content() {
    let content =
        ["messages", "prompt.0", "completion", "arguments", "result", "instructions", "definitions"];
    for span in spans() {
        assert!(span.events.is_empty());
        for pair in &span.attributes {
            let tokens = pair.key.ends_with("_tokens");
            assert!(tokens || !content.iter().any(|word| pair.key.contains(word)), "{}", pair.key);
        }
    }
}

/// Protects the counting rule that aggregates are not counted: an agent's usage is the sum of its
/// calls', so whoever adds both doubles it.
#[test]
fn agents_repeat_what_their_calls_used() {
    let spans = spans();
    let usage = |span: &Span| whole(&span.attributes, "gen_ai.usage.input_tokens").unwrap_or(0);
    let mut below: BTreeMap<&[u8], i64> = BTreeMap::new();
    for span in
        spans.iter().filter(|span| span.name.starts_with("chat ") || span.name.starts_with("embeddings "))
    {
        *below.entry(&span.parent_span_id).or_default() += usage(span);
    }
    let agents: Vec<_> = spans.iter().filter(|span| span.name.starts_with("invoke_agent ")).collect();
    assert!(agents.len() > 100);
    for agent in agents {
        assert_eq!(usage(agent), below.get(agent.span_id.as_slice()).copied().unwrap_or(0));
    }
}

/// Protects the minimum telemetry: each kind of span carries the fields that Plimsoll asks for.
#[test]
fn the_minimum_telemetry_is_there() {
    let spans = spans();
    let wanted: [(&str, &[&str]); 3] = [
        (
            "invoke_workflow ",
            &[
                "gen_ai.workflow.name",
                "plimsoll.request_class",
                "plimsoll.tenant",
                "plimsoll.tier",
                "plimsoll.admission",
                "plimsoll.queue_wait_ms",
                "plimsoll.outcome",
                "plimsoll.user.waiting",
                "plimsoll.run.parked",
                "plimsoll.prompt_version",
                "plimsoll.model_calls",
                "plimsoll.tool_calls",
                "plimsoll.retries.model",
                "plimsoll.retries.tool",
            ],
        ),
        (
            "chat ",
            &[
                "gen_ai.provider.name",
                "gen_ai.request.model",
                "server.address",
                "plimsoll.step",
                "plimsoll.attempt",
                "plimsoll.queue_wait_ms",
                "plimsoll.prompt_version",
            ],
        ),
        (
            "execute_tool ",
            &[
                "gen_ai.tool.name",
                "plimsoll.tool.concurrency_at_dispatch",
                "plimsoll.retries",
                "plimsoll.tool.payload_bytes",
            ],
        ),
    ];
    for (name, keys) in wanted {
        let mut seen = 0;
        for span in spans.iter().filter(|span| span.name.starts_with(name)) {
            seen += 1;
            for key in keys {
                assert!(value(&span.attributes, key).is_some(), "{} lacks {key}", span.name);
            }
        }
        assert!(seen > 100, "{name}");
    }
    // Now and then: what only some spans have.
    for key in [
        "gen_ai.request.max_tokens",
        "gen_ai.response.time_to_first_chunk",
        "gen_ai.usage.cache_read.input_tokens",
        "gen_ai.usage.cache_creation.input_tokens",
        "http.request.resend_count",
        "http.response.header.retry-after",
        "http.response.header.anthropic-ratelimit-input-tokens-remaining",
        "http.response.header.x-ratelimit-limit-tokens",
        "plimsoll.stream.duration_ms",
        "plimsoll.stream.stall_ms",
        "plimsoll.retrieved_tokens",
        "plimsoll.prompt.history_tokens",
        "plimsoll.prompt.tool_result_tokens",
        "plimsoll.run.resumed_from_step",
        "plimsoll.tool.idempotency_replayed",
    ] {
        assert!(spans.iter().any(|span| value(&span.attributes, key).is_some()), "{key}");
    }
}

/// Protects receivers: requests are of about 512 spans, one resource a service in each, in the order
/// in which things ended.
#[test]
fn requests_arrive_in_order_and_by_service() {
    let options = Options { days: Some(1), ..Options::default() };
    let requests: Vec<_> = Scenario::insurer().unwrap().generate(options).unwrap().collect();
    let mut latest = 0;
    for (place, request) in requests.iter().enumerate() {
        let services: Vec<_> = request
            .resource_spans
            .iter()
            .map(|resource| text(&resource.resource.as_ref().unwrap().attributes, "service.name").unwrap())
            .collect();
        assert_eq!(services.iter().collect::<BTreeSet<_>>().len(), services.len());
        let scopes = request.resource_spans.iter().flat_map(|resource| &resource.scope_spans);
        let ends: Vec<u64> =
            scopes.flat_map(|scope| &scope.spans).map(|span| span.end_time_unix_nano).collect();
        assert!(ends.len() < 540 && (ends.len() >= 512 || place + 1 == requests.len()), "{}", ends.len());
        let newest = ends.into_iter().max().unwrap();
        assert!(newest >= latest);
        latest = newest;
    }
}
