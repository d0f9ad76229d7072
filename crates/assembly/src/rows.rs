//! The rows that assembly gives: `runs`, `model_calls`, `attempts` and `tool_calls`.
//!
//! Fields are the columns of `schemas/tables/*.toml` by name, the token and header columns grouped
//! as in [`Span`](crate::Span). Not here: `start_day` (the caller's, from the run's `start_time`)
//! and what a call costs (the catalog's). Times are microseconds since 1970 UTC, durations milliseconds.

use std::borrow::Cow;

use crate::kinds::{Kind, Outcome, RetryLayer, Status, UsageSource};
use crate::span::{Limits, Tokens};

/// Everything that one run's spans say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Assembled<'a> {
    /// The run.
    pub run: Run<'a>,
    /// Its operations, by start.
    pub model_calls: Vec<ModelCall<'a>>,
    /// Their requests on the wire, operation by operation.
    pub attempts: Vec<Attempt<'a>>,
    /// Its tool executions, by start.
    pub tool_calls: Vec<ToolCall<'a>>,
}

/// A row of `runs`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run<'a> {
    /// Id that the caller gave: the trace id unless configured otherwise.
    pub run_id: &'a str,
    /// Traces that make it up, sorted; empty where it is just the trace of its id.
    pub trace_ids: Vec<&'a str>,
    /// Workflow.
    pub workflow: Option<Cow<'a, str>>,
    /// Service of the root.
    pub service: Option<&'a str>,
    /// Tenant.
    pub tenant: Option<&'a str>,
    /// Request class.
    pub request_class: Option<&'a str>,
    /// Tier that the telemetry told.
    pub tier: Option<i32>,
    /// Start.
    pub start_time: i64,
    /// End of the root, or of the last span while open.
    pub end_time: Option<i64>,
    /// `None` without a root.
    pub duration_ms: Option<f64>,
    /// How it ended.
    pub outcome: Outcome,
    /// The business outcome.
    pub business_outcome: Option<&'a str>,
    /// Generation operations.
    pub model_calls: Option<i64>,
    /// Requests on the wire for them.
    pub model_attempts: Option<i64>,
    /// Attempts answered 429.
    pub throttled_attempts: Option<i64>,
    /// Attempts beyond the first of each operation.
    pub retries: Option<i64>,
    /// Attempts that repeated, unchanged, one that had timed out: the provider may do that work twice.
    pub retries_after_timeout: Option<i64>,
    /// Tool executions; `None` where models asked for tools and no span shows one.
    pub tool_calls: Option<i64>,
    /// Most model calls at one instant.
    pub max_parallel_model_calls: Option<i64>,
    /// Most tools at one instant.
    pub max_parallel_tools: Option<i64>,
    /// Tokens of generation; a count is `None` where any call's is unknown.
    pub tokens: Tokens,
    /// Embedding operations.
    pub embedding_calls: Option<i64>,
    /// Input of embeddings.
    pub embedding_tokens: Option<i64>,
    /// Input summed over the generation calls that told.
    pub known_input_tokens: Option<i64>,
    /// Output summed over the generation calls that told.
    pub known_output_tokens: Option<i64>,
    /// Context that retrieval added.
    pub retrieved_tokens: Option<i64>,
    /// From the start of the run to the first token of its last streamed call.
    pub ttft_ms: Option<f64>,
    /// Time in which a model call was running.
    pub model_ms: Option<f64>,
    /// Time in which a tool but no model call was running.
    pub tool_ms: Option<f64>,
    /// Waits before dispatch, summed.
    pub queue_wait_ms: Option<f64>,
    /// Rest of the run's time.
    pub own_ms: Option<f64>,
    /// Part of the critical path that model calls took.
    pub critical_model_ms: Option<f64>,
    /// Part of the critical path that tools took.
    pub critical_tool_ms: Option<f64>,
    /// Longest gap in any stream.
    pub stall_ms: Option<f64>,
    /// Mean growth of the input from one generation call to the next of the same step, tokens.
    pub input_growth: Option<f64>,
    /// Model and tool calls per request.
    pub expansion: Option<f64>,
    /// Share of generation calls whose usage is known.
    pub usage_coverage: Option<f64>,
    /// Root seen and every parent present.
    pub complete: bool,
    /// Degraded modes.
    pub degraded: Option<Cow<'a, str>>,
    /// Waited aside for quota.
    pub parked: Option<bool>,
    /// Step that a resumed run went on from.
    pub resumed_from_step: Option<i32>,
    /// Response model of most calls.
    pub model_version: Option<&'a str>,
    /// Prompt version.
    pub prompt_version: Option<&'a str>,
    /// Runs that this one stands for.
    pub weight: f64,
    /// Unique spans seen.
    pub spans: i64,
    /// Codes of what is odd, sorted, each once.
    pub quality: Vec<&'a str>,
    /// Receipt of its first span.
    pub first_received: i64,
    /// Receipt of its last span.
    pub last_received: i64,
}

/// A row of `model_calls`: an operation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelCall<'a> {
    /// Run.
    pub run_id: &'a str,
    /// Start of the run.
    pub run_start_time: i64,
    /// Span of the operation's last attempt.
    pub span_id: &'a str,
    /// Workflow of the run.
    pub workflow: Option<Cow<'a, str>>,
    /// Step.
    pub step: Option<&'a str>,
    /// Service of the span that it counts by.
    pub service: Option<&'a str>,
    /// Dialect of that span.
    pub dialect: Option<&'a str>,
    /// Instrumentation scope of that span.
    pub scope: Option<&'a str>,
    /// Version of the scope.
    pub scope_version: Option<&'a str>,
    /// Place among the run's generation calls, from 1; `None` for embeddings and reranking.
    pub step_index: Option<i64>,
    /// Account.
    pub account: Option<&'a str>,
    /// Region.
    pub region: Option<&'a str>,
    /// Pool key.
    pub pool: Option<&'a str>,
    /// Provider.
    pub provider: Option<&'a str>,
    /// `server.address`.
    pub endpoint: Option<&'a str>,
    /// Model asked for.
    pub model: Option<&'a str>,
    /// Model that answered.
    pub response_model: Option<&'a str>,
    /// `gen_ai.operation.name`.
    pub operation: Option<&'a str>,
    /// `model_call`, `embedding` or `rerank`.
    pub kind: Kind,
    /// Start of the first attempt.
    pub start_time: i64,
    /// From the first attempt's start to the last's end.
    pub duration_ms: Option<f64>,
    /// Milliseconds to the first token.
    pub ttft_ms: Option<f64>,
    /// Wait before dispatch.
    pub queue_wait_ms: Option<f64>,
    /// Requests on the wire; `None` where the client does not tell.
    pub attempts: Option<i64>,
    /// `ok` or `error`.
    pub status: Status,
    /// Of the last attempt.
    pub http_status: Option<i32>,
    /// Of the last attempt.
    pub error_type: Option<&'a str>,
    /// Why the output ended.
    pub finish_reason: Option<&'a str>,
    /// Streamed.
    pub streaming: Option<bool>,
    /// Longest gap in the stream.
    pub stall_ms: Option<f64>,
    /// Output tokens a second, from the first token on where that is known.
    pub output_tokens_per_s: Option<f64>,
    /// Token counts.
    pub tokens: Tokens,
    /// Part of the prompt that retrieval added.
    pub retrieved_tokens: Option<i64>,
    /// Part of the prompt made of history.
    pub history_tokens: Option<i64>,
    /// Part of the prompt made of tool results.
    pub tool_result_tokens: Option<i64>,
    /// Cap on output asked for.
    pub max_output_tokens: Option<i64>,
    /// Prompt version.
    pub prompt_version: Option<&'a str>,
    /// Where the counts come from.
    pub usage_source: UsageSource,
    /// Rule that split the input.
    pub input_basis: Option<&'a str>,
    /// Calls that this one stands for.
    pub weight: f64,
}

/// A row of `attempts`: a request on the wire.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attempt<'a> {
    /// Run.
    pub run_id: &'a str,
    /// Start of the run.
    pub run_start_time: i64,
    /// Span that told of it.
    pub span_id: &'a str,
    /// Number within its operation, from 1.
    pub attempt: i64,
    /// `span_id` in `model_calls`.
    pub operation_span_id: &'a str,
    /// Workflow of the run.
    pub workflow: Option<Cow<'a, str>>,
    /// Tier of the run.
    pub tier: Option<i32>,
    /// Account.
    pub account: Option<&'a str>,
    /// Region.
    pub region: Option<&'a str>,
    /// Pool key.
    pub pool: Option<&'a str>,
    /// Tier that the provider served it in; `None` for the standard one.
    pub service_tier: Option<&'a str>,
    /// `model_call`, `embedding` or `rerank`.
    pub kind: Kind,
    /// Start.
    pub start_time: i64,
    /// Milliseconds.
    pub duration_ms: Option<f64>,
    /// Status of the provider's answer.
    pub http_status: Option<i32>,
    /// Class of the failure.
    pub error_type: Option<&'a str>,
    /// Who sent it again: null for a first attempt.
    pub layer: Option<RetryLayer>,
    /// Class of the failure that it follows; null for a first attempt or where that was not told.
    pub after: Option<&'static str>,
    /// Whether it asked for the same as the attempt before it, as far as the client tells both.
    pub unchanged: Option<bool>,
    /// Step of its operation.
    pub step: Option<&'a str>,
    /// Answered 429 by the provider's limit.
    pub throttled: bool,
    /// The provider charges for it.
    pub billed: bool,
    /// Attempts that this one stands for.
    pub weight: f64,
    /// Token counts.
    pub tokens: Tokens,
    /// Part of the cache write that is kept for an hour.
    pub cache_write_1h: Option<i64>,
    /// Part of the input that is audio.
    pub audio_tokens: Option<i64>,
    /// Cap on output asked for.
    pub max_output_tokens: Option<i64>,
    /// What the rate-limit headers told.
    pub limits: Limits,
}

/// A row of `tool_calls`: one execution of a tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolCall<'a> {
    /// Run.
    pub run_id: &'a str,
    /// Start of the run.
    pub run_start_time: i64,
    /// Span.
    pub span_id: &'a str,
    /// Workflow of the run.
    pub workflow: Option<Cow<'a, str>>,
    /// Generation calls started before it.
    pub step_index: Option<i64>,
    /// Tool name.
    pub tool: Option<&'a str>,
    /// Start.
    pub start_time: i64,
    /// Milliseconds.
    pub duration_ms: Option<f64>,
    /// `ok` or `error`.
    pub status: Status,
    /// Class of the failure.
    pub error_type: Option<&'a str>,
    /// `None` where the client does not tell.
    pub retries: Option<i64>,
    /// Calls of this tool already running.
    pub concurrency_at_dispatch: Option<i64>,
    /// Bytes.
    pub payload_bytes: Option<i64>,
    /// The tool had done this before.
    pub idempotency_replayed: Option<bool>,
    /// Executions that this one stands for.
    pub weight: f64,
}
