//! Rows of operations, requests and tools.
//!
//! A row says what its spans told and no more: of a request that was only counted, that it was made;
//! of a client that shows none of them, not how many there were.

use std::borrow::Cow;

use crate::calls::Call;
use crate::doubles::models_agree;
use crate::failure::Failure;
use crate::forest::Forest;
use crate::kinds::{Kind, RetryLayer, Status, UsageSource};
use crate::operations::{Operation, unseen_before};
use crate::quality;
use crate::rows::{Attempt, ModelCall, ToolCall};
use crate::run::{Parts, micros, millis};
use crate::span::{Limits, Span, Tokens};
use crate::tools::Tool;

impl<'a> Parts<'_, '_, 'a> {
    /// An operation's row; its requests are added to `attempts`.
    pub(crate) fn operation(
        &mut self,
        operation: &Operation,
        shown: &ShownScopes<'a>,
        tier: Option<i32>,
        attempts: &mut Vec<Attempt<'a>>,
    ) -> ModelCall<'a> {
        let calls = self.calls;
        let tries = || operation.calls.iter().map(|&call| &calls.list[call as usize]);
        let (Some(first), Some(last)) = (tries().next(), tries().next_back()) else {
            return ModelCall::default();
        };
        let first_row = attempts.len();
        let number = |attempts: &Vec<Attempt<'a>>| (attempts.len() - first_row) as i64;
        let (mut all_seen, mut told) = (true, operation.calls.len() > 1 || last.cached);
        let mut before: Option<&Call<'a>> = None;
        for call in tries().filter(|call| !call.cached) {
            let after = before.map(|before| (before.failure, unchanged(before, call)));
            all_seen &= self.requests(call, number(attempts), (first, last), after, tier, attempts)
                || !call.requests.is_empty();
            told |= shown.tells_attempts(call);
            before = Some(call);
        }
        let number = number(attempts);
        if !all_seen {
            self.codes.push(quality::ATTEMPT_DETAIL_MISSING);
        }
        if !told && !last.stand_in {
            self.codes.push(quality::ATTEMPTS_UNKNOWN);
        }
        if last.lacks_usage() && !last.covered {
            self.codes.push(quality::USAGE_MISSING);
        }
        let span = &last.span;
        if matches!(span.finish_reason, Some("length" | "max_tokens")) {
            self.codes.push(quality::OUTPUT_TRUNCATED);
        }
        let queue_wait = tries().filter_map(|call| call.span.queue_wait_ms);
        ModelCall {
            run_id: self.run_id,
            run_start_time: 0,
            span_id: span.span_id,
            workflow: None,
            step: span.step.or(first.span.step),
            service: span.service,
            dialect: span.dialect,
            scope: span.scope,
            scope_version: span.scope_version,
            step_index: None,
            account: span.account,
            region: span.region,
            pool: span.pool,
            provider: span.provider,
            endpoint: span.endpoint,
            model: span.model,
            response_model: span.response_model,
            operation: span.operation,
            kind: span.kind,
            start_time: micros(first.span.start_unix_nano),
            duration_ms: match operation.calls.len() {
                1 => span.duration_ms,
                _ => span.duration_ms.map(|_| millis(last.end.saturating_sub(first.span.start_unix_nano))),
            },
            ttft_ms: span.ttft_ms,
            queue_wait_ms: queue_wait.clone().next().map(|_| queue_wait.sum()),
            attempts: (told && !last.stand_in).then_some(number),
            status: if last.failure.is_some() { Status::Error } else { Status::Ok },
            http_status: span.http_status,
            error_type: span.error_type,
            finish_reason: span.finish_reason,
            streaming: span.streaming,
            stall_ms: tries().filter_map(|call| call.span.stall_ms).reduce(f64::max),
            output_tokens_per_s: output_speed(last),
            tokens: operation_tokens(tries(), last),
            retrieved_tokens: span.retrieved_tokens,
            history_tokens: span.history_tokens,
            tool_result_tokens: span.tool_result_tokens,
            max_output_tokens: span.max_output_tokens,
            prompt_version: span.prompt_version,
            usage_source: last.usage,
            input_basis: span.input_basis,
            weight: span.sane_weight(),
        }
    }

    /// Rows of one call's requests: those that HTTP spans show, or else itself and those that it only
    /// counts. `number` is how many came before it in the
    /// operation, `after` how the call before it failed and whether this one asks for the same. Says
    /// whether spans show them all.
    fn requests(
        &mut self,
        call: &Call<'a>,
        number: i64,
        (first, last): (&Call<'a>, &Call<'a>),
        after: Option<(Option<Failure>, Option<bool>)>,
        tier: Option<i32>,
        attempts: &mut Vec<Attempt<'a>>,
    ) -> bool {
        let shown: Vec<&Span<'a>> =
            call.requests.iter().map(|&node| self.forest.nodes[node as usize]).collect();
        let earlier = if shown.is_empty() {
            unseen_before(call, number).unwrap_or_else(|| {
                self.codes.push(quality::RETRIES_IMPLAUSIBLE);
                0
            })
        } else {
            shown.len() as i64 - 1
        };
        for i in 0..=earlier {
            let mut row = self.attempt(call, last, number + 1 + i, tier, i == earlier);
            row.step = call.span.step.or(first.span.step);
            let request = usize::try_from(i).ok().and_then(|i| shown.get(i));
            if let Some(request) = request {
                seen_on_the_wire(&mut row, request);
            }
            if i > 0 {
                // The library keeps the request as it was.
                (row.layer, row.unchanged) = (Some(RetryLayer::Client), Some(true));
                let before = usize::try_from(i - 1).ok().and_then(|i| shown.get(i));
                row.after = before.and_then(|span| Failure::of(span)).and_then(Failure::name);
            } else if let Some((failure, unchanged)) = after {
                row.layer = Some(RetryLayer::Application);
                row.after = failure.and_then(Failure::name);
                row.unchanged = unchanged;
            }
            attempts.push(row);
        }
        earlier == 0
    }

    /// A request's row; of one that was only counted nothing but its existence is known.
    fn attempt(
        &self,
        call: &Call<'a>,
        last: &Call<'a>,
        number: i64,
        tier: Option<i32>,
        seen: bool,
    ) -> Attempt<'a> {
        let span = &call.span;
        let row = Attempt {
            run_id: self.run_id,
            span_id: span.span_id,
            attempt: number,
            operation_span_id: last.span.span_id,
            workflow: None,
            tier,
            account: span.account,
            region: span.region,
            pool: span.pool.or(last.span.pool),
            service_tier: span.service_tier,
            kind: span.kind,
            start_time: micros(span.start_unix_nano),
            max_output_tokens: span.max_output_tokens,
            weight: span.sane_weight(),
            ..Attempt::default()
        };
        if !seen {
            return row;
        }
        Attempt {
            duration_ms: span.duration_ms,
            http_status: span.http_status,
            error_type: span.error_type,
            throttled: call.failure == Some(Failure::Throttled),
            // A provider that reports usage charges for it, whatever became of the answer.
            billed: !call.cached && (call.failure.is_none() || span.tokens.any()),
            tokens: span.tokens,
            cache_write_1h: span.cache_write_1h,
            audio_tokens: span.audio_tokens,
            limits: span.limits,
            ..row
        }
    }

    /// Rows of the tools.
    pub(crate) fn tool_rows(
        &self,
        workflow: Option<&Cow<'a, str>>,
        run_start_time: i64,
        model_calls: &[ModelCall<'a>],
    ) -> Vec<ToolCall<'a>> {
        let generations: Vec<i64> = model_calls
            .iter()
            .filter(|call| call.kind == Kind::ModelCall)
            .map(|call| call.start_time)
            .collect();
        self.tools
            .iter()
            .map(|Tool { span, status, .. }| {
                let start_time = micros(span.start_unix_nano);
                ToolCall {
                    run_id: self.run_id,
                    run_start_time,
                    span_id: span.span_id,
                    workflow: workflow.cloned(),
                    step_index: Some(generations.partition_point(|start| *start < start_time) as i64),
                    tool: span.tool,
                    start_time,
                    duration_ms: span.duration_ms,
                    status: *status,
                    error_type: span.error_type,
                    retries: span.retries.map(i64::from),
                    concurrency_at_dispatch: span.concurrency_at_dispatch.map(i64::from),
                    payload_bytes: span.payload_bytes,
                    idempotency_replayed: span.idempotency_replayed,
                    weight: span.sane_weight(),
                }
            })
            .collect()
    }
}

/// Which clients show their requests one by one in this run.
pub(crate) struct ShownScopes<'a> {
    failing: Vec<Option<&'a str>>,
}

impl<'a> ShownScopes<'a> {
    /// Every span of a call counts, also one that another stands for.
    pub(crate) fn new(forest: &Forest<'_, 'a>, kinds: &[Kind]) -> Self {
        let spans = forest.nodes.iter().zip(kinds).filter(|(_, kind)| kind.is_model());
        let failing = spans.filter(|(span, _)| Failure::of(span).is_some());
        let mut failing: Vec<Option<&'a str>> = failing.map(|(span, _)| span.scope).collect();
        failing.sort_unstable();
        failing.dedup();
        Self { failing }
    }

    /// Whether the number of requests behind a call is known. A span says so by an attempt number, a
    /// count of resends or the status of the HTTP answer; a client that shows a failed request in
    /// this run does not hide others.
    fn tells_attempts(&self, call: &Call<'a>) -> bool {
        let span = &call.span;
        span.attempt.is_some()
            || span.retries.is_some()
            || span.http_status.is_some()
            || !call.requests.is_empty()
            || self.failing.binary_search(&span.scope).is_ok()
    }
}

/// What an HTTP span tells of its request. The span of a stream ends with the headers, so it tells no
/// duration.
fn seen_on_the_wire(row: &mut Attempt<'_>, request: &Span<'_>) {
    let failure = Failure::of(request);
    row.start_time = micros(request.start_unix_nano);
    row.http_status = request.http_status.or(row.http_status);
    row.throttled = failure == Some(Failure::Throttled);
    if row.limits == Limits::default() {
        row.limits = request.limits;
    }
}

/// Whether two requests asked for the same, by what both spans tell; `None` where neither tells a size.
fn unchanged(before: &Call<'_>, after: &Call<'_>) -> Option<bool> {
    let (a, b) = (&before.span, &after.span);
    let model = a.any_model().zip(b.any_model()).map(|_| models_agree(before, after));
    let cap = a.max_output_tokens.zip(b.max_output_tokens).map(|(a, b)| a == b);
    let input = a.tokens.input_tokens.zip(b.tokens.input_tokens).map(|(a, b)| a == b);
    [model, cap, input].into_iter().flatten().reduce(|a, b| a && b)
}

/// Tokens a second of an answer: while it streamed where the first token's time is known, else over
/// the whole call.
fn output_speed(call: &Call<'_>) -> Option<f64> {
    let span = &call.span;
    if call.failure.is_some() || call.usage != UsageSource::Reported {
        return None;
    }
    let output = span.tokens.output_tokens.filter(|n| *n > 1)? as f64;
    let writing_ms = span.duration_ms? - span.ttft_ms.unwrap_or(0.0);
    (writing_ms > 0.0).then(|| output * 1e3 / writing_ms)
}

/// Token counts of an operation: those of all tries that told any. A last try that succeeded and told
/// none leaves them unknown.
fn operation_tokens<'c, 'a: 'c>(tries: impl Iterator<Item = &'c Call<'a>>, last: &Call<'a>) -> Tokens {
    if last.lacks_usage() {
        return Tokens::default();
    }
    tries.map(|call| call.span.tokens).filter(Tokens::known).reduce(Tokens::plus).unwrap_or_default()
}
