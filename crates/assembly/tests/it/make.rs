//! Spans for tests, said in a few words. Times are milliseconds after a fixed instant.

use plimsoll_assembly::{Kind, Span, Status, Tokens};

/// 2026-11-02T00:00:00Z in nanoseconds.
pub(crate) const T0: i64 = 1_793_577_600_000_000_000;

/// A span of the trace `t`; `parent` is empty for a root.
pub(crate) fn span<'a>(span_id: &'a str, parent: &'a str, kind: Kind, from_ms: i64, to_ms: i64) -> Span<'a> {
    Span {
        trace_id: "t",
        span_id,
        parent_span_id: (!parent.is_empty()).then_some(parent),
        kind,
        name: Some(kind.as_str()),
        service: Some("agents"),
        start_unix_nano: T0 + from_ms * 1_000_000,
        duration_ms: Some((to_ms - from_ms) as f64),
        scope: Some("app"),
        weight: 1.0,
        received_at: T0 / 1_000,
        ..Span::default()
    }
}

/// A generation call of one model with token counts, none of them cached.
pub(crate) fn chat<'a>(
    span_id: &'a str,
    parent: &'a str,
    from_ms: i64,
    to_ms: i64,
    input: i64,
    output: i64,
) -> Span<'a> {
    Span { tokens: tokens(input, output), ..silent_chat(span_id, parent, from_ms, to_ms) }
}

/// A generation call that tells no counts.
pub(crate) fn silent_chat<'a>(span_id: &'a str, parent: &'a str, from_ms: i64, to_ms: i64) -> Span<'a> {
    Span { model: Some("gpt-4.1"), ..span(span_id, parent, Kind::ModelCall, from_ms, to_ms) }
}

/// A generation call that the provider refused with a status.
pub(crate) fn refused<'a>(
    span_id: &'a str,
    parent: &'a str,
    from_ms: i64,
    to_ms: i64,
    http_status: i32,
) -> Span<'a> {
    Span {
        status: Status::Error,
        http_status: Some(http_status),
        ..silent_chat(span_id, parent, from_ms, to_ms)
    }
}

/// An execution of a tool.
pub(crate) fn tool<'a>(
    span_id: &'a str,
    parent: &'a str,
    from_ms: i64,
    to_ms: i64,
    name: &'a str,
) -> Span<'a> {
    Span { tool: Some(name), ..span(span_id, parent, Kind::ToolCall, from_ms, to_ms) }
}

/// Counts without anything cached.
pub(crate) fn tokens(input: i64, output: i64) -> Tokens {
    Tokens {
        input_tokens: Some(input),
        input_uncached: Some(input),
        cache_read: Some(0),
        cache_write: Some(0),
        output_tokens: Some(output),
        reasoning_tokens: Some(0),
    }
}
