//! A span as this crate takes it in: the columns of `spans` that assembly reads, borrowed.
//!
//! Names are as in `schemas/tables/spans.toml`; only the token and the header columns are grouped,
//! since they travel together. Match rules have been applied to `workflow`, `account` and `pool`.

use crate::kinds::{Kind, Status};

/// Token counts of a call; `None` is unknown, never zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Uncached + cache read + cache write.
    pub input_tokens: Option<i64>,
    /// Input neither read from nor written to a cache.
    pub input_uncached: Option<i64>,
    /// Input read from the provider's cache.
    pub cache_read: Option<i64>,
    /// Input written to the provider's cache.
    pub cache_write: Option<i64>,
    /// Output, reasoning included.
    pub output_tokens: Option<i64>,
    /// The part of the output that was reasoning.
    pub reasoning_tokens: Option<i64>,
}

/// What the provider's rate-limit headers told, where the client recorded them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// Request limit.
    pub limit_requests: Option<i64>,
    /// Requests left.
    pub remaining_requests: Option<i64>,
    /// Combined or input token limit.
    pub limit_tokens: Option<i64>,
    /// Combined or input tokens left.
    pub remaining_tokens: Option<i64>,
    /// Output token limit.
    pub limit_output_tokens: Option<i64>,
    /// Output tokens left.
    pub remaining_output_tokens: Option<i64>,
    /// Milliseconds that the provider asked the client to wait.
    pub retry_after_ms: Option<f64>,
}

/// One span. `Span::default()` is an anonymous span at time zero with weight 0, so set `weight`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Span<'a> {
    /// 32 lower-case hex digits.
    pub trace_id: &'a str,
    /// 16 lower-case hex digits, unique within the trace.
    pub span_id: &'a str,
    /// `None` (or empty) for a root.
    pub parent_span_id: Option<&'a str>,
    /// Class of the span.
    pub kind: Kind,
    /// Span name.
    pub name: Option<&'a str>,
    /// Resource `service.name`.
    pub service: Option<&'a str>,
    /// Start, nanoseconds since 1970 UTC.
    pub start_unix_nano: i64,
    /// `None` where the end is missing or before the start.
    pub duration_ms: Option<f64>,
    /// Status as told.
    pub status: Status,
    /// `throttled`, `capacity`, `timeout`, `auth`, ... or the `error.type` as sent.
    pub error_type: Option<&'a str>,
    /// Status of the provider's answer.
    pub http_status: Option<i32>,
    /// Provider, folded.
    pub provider: Option<&'a str>,
    /// Region that the provider served from.
    pub region: Option<&'a str>,
    /// `server.address`.
    pub endpoint: Option<&'a str>,
    /// Model asked for.
    pub model: Option<&'a str>,
    /// Model that answered.
    pub response_model: Option<&'a str>,
    /// Tier that the provider served it in; `None` for the standard one.
    pub service_tier: Option<&'a str>,
    /// `gen_ai.operation.name`.
    pub operation: Option<&'a str>,
    /// Workflow, after the match rules.
    pub workflow: Option<&'a str>,
    /// Whether a match rule gave `workflow`: such a name outranks every measured one.
    pub workflow_by_rule: bool,
    /// Step, node or agent.
    pub step: Option<&'a str>,
    /// Tenant.
    pub tenant: Option<&'a str>,
    /// Request class.
    pub request_class: Option<&'a str>,
    /// Tier, 0 to 3.
    pub tier: Option<i32>,
    /// Session or conversation.
    pub session_id: Option<&'a str>,
    /// What runs are told apart by, after the match rules; `None` (or empty) for the trace.
    pub run_key: Option<&'a str>,
    /// The provider's id of the answer.
    pub response_id: Option<&'a str>,
    /// Instrumentation scope.
    pub scope: Option<&'a str>,
    /// Its version.
    pub scope_version: Option<&'a str>,
    /// Dialect that named the span.
    pub dialect: Option<&'a str>,
    /// Account, after the match rules.
    pub account: Option<&'a str>,
    /// Pool key, after the match rules.
    pub pool: Option<&'a str>,
    /// Token counts.
    pub tokens: Tokens,
    /// Part of the cache write that is kept for an hour.
    pub cache_write_1h: Option<i64>,
    /// Part of the input that is audio.
    pub audio_tokens: Option<i64>,
    /// Tokens that retrieval added.
    pub retrieved_tokens: Option<i64>,
    /// Part of the prompt made of history.
    pub history_tokens: Option<i64>,
    /// Part of the prompt made of tool results.
    pub tool_result_tokens: Option<i64>,
    /// Cap on output asked for.
    pub max_output_tokens: Option<i64>,
    /// Rule that split the input.
    pub input_basis: Option<&'a str>,
    /// Milliseconds from this span's start to the first token.
    pub ttft_ms: Option<f64>,
    /// Milliseconds of wait before dispatch.
    pub queue_wait_ms: Option<f64>,
    /// Longest gap in the stream, milliseconds.
    pub stall_ms: Option<f64>,
    /// Whether the answer was streamed.
    pub streaming: Option<bool>,
    /// Number of this attempt, from 1.
    pub attempt: Option<i32>,
    /// Why the output ended.
    pub finish_reason: Option<&'a str>,
    /// Tool name.
    pub tool: Option<&'a str>,
    /// Tool call id.
    pub tool_call_id: Option<&'a str>,
    /// Calls of this tool already running, as the client saw it.
    pub concurrency_at_dispatch: Option<i32>,
    /// Resends within this span, as the client told.
    pub retries: Option<i32>,
    /// Bytes of the tool's payload.
    pub payload_bytes: Option<i64>,
    /// Whether the tool had done this before.
    pub idempotency_replayed: Option<bool>,
    /// Degraded modes, comma-separated.
    pub degraded: Option<&'a str>,
    /// The business outcome.
    pub outcome: Option<&'a str>,
    /// Whether the run waited aside for quota.
    pub parked: Option<bool>,
    /// Step that a resumed run went on from.
    pub resumed_from_step: Option<i32>,
    /// Prompt version.
    pub prompt_version: Option<&'a str>,
    /// What the rate-limit headers told.
    pub limits: Limits,
    /// Spans that this one stands for.
    pub weight: f64,
    /// Codes of what is odd about this span.
    pub quality: Vec<&'a str>,
    /// Whether a log record told it, rather than a span.
    pub from_log: bool,
    /// Receipt, microseconds since 1970 UTC.
    pub received_at: i64,
}

impl Tokens {
    /// All counts known to be zero: what a provider served for an answer that came from a cache.
    pub(crate) const NONE_SERVED: Self = Self {
        input_tokens: Some(0),
        input_uncached: Some(0),
        cache_read: Some(0),
        cache_write: Some(0),
        output_tokens: Some(0),
        reasoning_tokens: Some(0),
    };

    /// Whether anything was told.
    #[must_use]
    pub const fn known(&self) -> bool {
        self.input_tokens.is_some() || self.output_tokens.is_some()
    }

    /// Whether anything but zeros was told.
    pub(crate) fn any(&self) -> bool {
        self.input_tokens.is_some_and(|n| n > 0) || self.output_tokens.is_some_and(|n| n > 0)
    }

    /// Adds field by field; a count that either side lacks is unknown in the sum.
    #[must_use]
    pub(crate) fn plus(self, other: Self) -> Self {
        let add = |a: Option<i64>, b: Option<i64>| Some(a?.saturating_add(b?));
        Self {
            input_tokens: add(self.input_tokens, other.input_tokens),
            input_uncached: add(self.input_uncached, other.input_uncached),
            cache_read: add(self.cache_read, other.cache_read),
            cache_write: add(self.cache_write, other.cache_write),
            output_tokens: add(self.output_tokens, other.output_tokens),
            reasoning_tokens: add(self.reasoning_tokens, other.reasoning_tokens),
        }
    }

    /// Orders snapshots of one span: the larger count is the later one.
    pub(crate) fn rank(&self) -> [Option<i64>; 6] {
        [
            self.input_tokens,
            self.output_tokens,
            self.input_uncached,
            self.cache_read,
            self.cache_write,
            self.reasoning_tokens,
        ]
    }
}

impl<'a> Span<'a> {
    /// End in nanoseconds; the start where the duration is unknown.
    #[must_use]
    pub fn end_unix_nano(&self) -> i64 {
        match self.duration_ms {
            // A cast from float saturates, so an absurd duration cannot wrap.
            Some(ms) if ms > 0.0 => self.start_unix_nano.saturating_add((ms * 1e6).round() as i64),
            _ => self.start_unix_nano,
        }
    }

    /// Weight, with nonsense read as one.
    pub(crate) fn sane_weight(&self) -> f64 {
        if self.weight.is_finite() && self.weight > 0.0 { self.weight } else { 1.0 }
    }

    /// Whether a quality code stands on the span.
    pub(crate) fn has(&self, code: &str) -> bool {
        self.quality.contains(&code)
    }

    /// Model asked for, else the one that answered.
    pub(crate) fn any_model(&self) -> Option<&'a str> {
        self.model.or(self.response_model)
    }
}
