//! Speed of assembly: `cargo bench -p plimsoll-assembly`. One core; the goal is a million spans,
//! twelve a run, well under 1.5 s (so 15 microseconds a run here, copying its spans included).

use std::hint::black_box;

use plimsoll_assembly::{Kind, Span, Status, Tokens, assemble};

fn main() {
    divan::main();
}

const IDS: [&str; 12] = [
    "00f067aa0ba902b0",
    "00f067aa0ba902b1",
    "00f067aa0ba902b2",
    "00f067aa0ba902b3",
    "00f067aa0ba902b4",
    "00f067aa0ba902b5",
    "00f067aa0ba902b6",
    "00f067aa0ba902b7",
    "00f067aa0ba902b8",
    "00f067aa0ba902b9",
    "00f067aa0ba902ba",
    "00f067aa0ba902bb",
];

/// A run of twelve: request, agent, nine calls and tools in turn, one of them throttled first, an
/// embedding; children before parents, as exporters send them.
fn agent_run() -> Vec<Span<'static>> {
    let span = |i: usize, parent: Option<usize>, kind, from: i64, to: i64| Span {
        trace_id: "4bf92f3577b34da6a3ce929d0e0e4736",
        span_id: IDS[i],
        parent_span_id: parent.map(|parent| IDS[parent]),
        kind,
        name: Some(kind.as_str()),
        service: Some("finance-agents"),
        scope: Some("invoices.genai"),
        workflow: Some("invoice-reconciliation"),
        model: kind.is_model().then_some("claude-sonnet-4-5"),
        pool: kind.is_model().then_some("anthropic/direct/global/claude-sonnet-4.5"),
        tool: (kind == Kind::ToolCall).then_some("match_ledger"),
        http_status: kind.is_model().then_some(200),
        start_unix_nano: 1_793_577_600_000_000_000 + from * 1_000_000,
        duration_ms: Some((to - from) as f64),
        tokens: if kind.is_model() {
            Tokens {
                input_tokens: Some(6_000),
                input_uncached: Some(4_000),
                cache_read: Some(2_000),
                cache_write: Some(0),
                output_tokens: Some(600),
                reasoning_tokens: Some(0),
            }
        } else {
            Tokens::default()
        },
        weight: 1.0,
        ..Span::default()
    };
    let mut spans = vec![span(0, None, Kind::Request, 0, 10_000), span(1, Some(0), Kind::Agent, 1, 9_999)];
    for i in 2..11 {
        let kind = if i % 2 == 0 { Kind::ModelCall } else { Kind::ToolCall };
        let from = i as i64 * 800;
        spans.push(span(i, Some(1), kind, from, from + 700));
    }
    spans.push(span(11, Some(0), Kind::Embedding, 9_000, 9_050));
    spans[4].http_status = Some(429);
    spans[4].status = Status::Error;
    spans[4].tokens = Tokens::default();
    spans.reverse();
    spans
}

/// One typical run, its spans copied from rows first, as the caller of assembly does.
#[divan::bench]
fn twelve_spans(bencher: divan::Bencher<'_, '_>) {
    let spans = agent_run();
    bencher
        .counter(divan::counter::ItemsCount::new(spans.len()))
        .bench_local(|| assemble("run", black_box(&spans).clone()));
}

/// One wide run: ten thousand calls under one agent.
#[divan::bench]
fn ten_thousand_children(bencher: divan::Bencher<'_, '_>) {
    let ids: Vec<String> = (0..10_000).map(|i| format!("{i:016x}")).collect();
    let template = agent_run();
    let (call, root) = (&template[1], &template[11]);
    let children = ids.iter().enumerate().map(|(i, id)| Span {
        span_id: id,
        parent_span_id: Some(root.span_id),
        start_unix_nano: call.start_unix_nano + i as i64,
        ..call.clone()
    });
    let spans: Vec<Span<'_>> = std::iter::once(root.clone()).chain(children).collect();
    bencher
        .counter(divan::counter::ItemsCount::new(spans.len()))
        .bench_local(|| assemble("run", black_box(&spans).clone()));
}
