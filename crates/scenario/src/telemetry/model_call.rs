//! Spans of the model clients: one for each request on the wire, a refused one and its retry being
//! siblings under the agent.

use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;

use super::attributes::Attributes;
use super::ids::response_id;
use super::spans::{millis, span};
use crate::file::{Headers, Operation};
use crate::sim::{Allowance, Attempt, End, Heard, MILLI, Purpose, RunFacts, SECOND};

/// An attempt that has ended.
pub(crate) fn model_call(run: &RunFacts, attempt: &Attempt, heard: &Heard) -> Span {
    let (workflow, pool) = (&run.spec, &heard.pool);
    let embeds = matches!(attempt.purpose, Purpose::Before(step) if workflow.before[step].operation == Operation::Embeddings);
    // A workflow's own name for the model, and its version, are those of its generations' pool.
    let own = pool.name == workflow.calls.pool;
    let version = run.version.map(|version| &workflow.versions[version]).filter(|_| own);
    let model = workflow.model.as_ref().filter(|_| own).unwrap_or(&pool.model);
    let operation = if embeds { "embeddings" } else { "chat" };

    let answered = matches!(heard.end, End::Answered { .. });
    let mut span = span(run, attempt.span, &run.agent, SpanKind::Client, (attempt.sent, heard.at), !answered);
    span.name = format!("{operation} {model}");
    let mut attributes = Attributes::with_capacity(36);
    attributes.text("gen_ai.operation.name", operation);
    attributes.text("gen_ai.provider.name", &pool.provider);
    attributes.text("gen_ai.request.model", model);
    if let (Some(cap), false) = (attempt.tokens.cap, embeds) {
        attributes.whole("gen_ai.request.max_tokens", cap);
    }
    if attempt.stream {
        attributes.truth("gen_ai.request.stream", true);
    }
    attributes.text("gen_ai.agent.name", &workflow.agent);
    if let Some((_, conversation)) = run.user {
        attributes.text("gen_ai.conversation.id", format!("conv-{conversation:016x}"));
    }
    attributes.text("server.address", &pool.server);
    attributes.whole("server.port", 443);
    attributes.text(
        "plimsoll.step",
        match attempt.purpose {
            Purpose::Before(step) => workflow.before[step].step.clone(),
            Purpose::Step(step) => format!("step-{}", step + 1),
            Purpose::Fallback => "fallback".to_owned(),
        },
    );
    attributes.text("plimsoll.prompt_version", run.prompt_version());
    attributes.whole("plimsoll.attempt", attempt.number);
    if attempt.number > 1 {
        attributes.whole("http.request.resend_count", attempt.number - 1);
    }
    attributes.real("plimsoll.queue_wait_ms", millis(attempt.waited));
    prompt(&mut attributes, attempt);

    match heard.end {
        End::Answered { first_token, stalled, usage } => {
            let response_model =
                version.and_then(|version| version.response_model.as_ref()).unwrap_or(&pool.response_model);
            attributes.text("gen_ai.response.model", response_model);
            attributes.whole("http.response.status_code", 200);
            if !embeds {
                attributes.text("gen_ai.response.id", response_id(&pool.provider, heard.response));
                attributes.listed("gen_ai.response.finish_reasons", finish_reason(attempt, heard));
            }
            if attempt.stream {
                let duration = heard.at - attempt.sent;
                attributes.real("gen_ai.response.time_to_first_chunk", (first_token / 1000) as f64 / 1e6);
                attributes.real("plimsoll.stream.duration_ms", millis(duration.saturating_sub(first_token)));
                if let Some(stalled) = stalled {
                    attributes.real("plimsoll.stream.stall_ms", millis(stalled));
                }
            }
            if usage {
                usage_of(&mut attributes, attempt, embeds);
            }
            headers(&mut attributes, pool.headers, heard.allowance, None);
        }
        End::Refused { retry_after } => {
            attributes.text("error.type", heard.end.error_type(pool));
            attributes.whole("http.response.status_code", 429);
            headers(&mut attributes, pool.headers, heard.allowance, Some(retry_after));
        }
        End::Unavailable => {
            attributes.text("error.type", heard.end.error_type(pool));
            attributes.whole("http.response.status_code", 503);
        }
        End::TimedOut => attributes.text("error.type", heard.end.error_type(pool)),
    }
    span.attributes = attributes.into_inner();
    span
}

fn prompt(attributes: &mut Attributes, attempt: &Attempt) {
    let prompt = attempt.prompt;
    let parts = [
        ("plimsoll.retrieved_tokens", prompt.retrieved),
        ("plimsoll.prompt.history_tokens", prompt.history),
        ("plimsoll.prompt.tool_result_tokens", prompt.tool_results),
    ];
    for (key, tokens) in parts {
        if tokens > 0 {
            attributes.whole(key, tokens);
        }
    }
}

/// By the conventions: input includes what was cached, and zero cache counts are left out.
fn usage_of(attributes: &mut Attributes, attempt: &Attempt, embeds: bool) {
    attributes.whole("gen_ai.usage.input_tokens", attempt.tokens.input());
    if !embeds {
        attributes.whole("gen_ai.usage.output_tokens", attempt.tokens.output);
    }
    if attempt.tokens.cache_read > 0 {
        attributes.whole("gen_ai.usage.cache_read.input_tokens", attempt.tokens.cache_read);
    }
    if attempt.tokens.cache_write > 0 {
        attributes.whole("gen_ai.usage.cache_creation.input_tokens", attempt.tokens.cache_write);
    }
}

fn finish_reason(attempt: &Attempt, heard: &Heard) -> &'static str {
    let cut = attempt.tokens.cap == Some(attempt.tokens.output);
    let claude = matches!(heard.pool.provider.as_str(), "anthropic" | "aws.bedrock");
    match (claude, cut, heard.wants_tools) {
        (true, true, _) => "max_tokens",
        (true, false, true) => "tool_use",
        (true, false, false) => "end_turn",
        (false, true, _) => "length",
        (false, false, true) => "tool_calls",
        (false, false, false) => "stop",
    }
}

/// Rate-limit headers as the HTTP conventions record them.
fn headers(attributes: &mut Attributes, style: Headers, allowance: Allowance, retry_after: Option<u64>) {
    let mut told = |key: &str, value: i64| attributes.listed(key, value.to_string());
    // Short of the tokens asked for, a refusal tells that none are left.
    let left = |remaining: i64| if retry_after.is_some() { 0 } else { remaining };
    match style {
        Headers::None => {}
        Headers::Anthropic => {
            if let Some((limit, remaining)) = allowance.requests {
                told("http.response.header.anthropic-ratelimit-requests-limit", limit);
                told("http.response.header.anthropic-ratelimit-requests-remaining", remaining);
            }
            if let Some((limit, remaining)) = allowance.tokens {
                told("http.response.header.anthropic-ratelimit-input-tokens-limit", limit);
                // This provider rounds what is left to thousands.
                told(
                    "http.response.header.anthropic-ratelimit-input-tokens-remaining",
                    (left(remaining) + 500) / 1000 * 1000,
                );
            }
            if let Some((limit, remaining)) = allowance.output_tokens {
                told("http.response.header.anthropic-ratelimit-output-tokens-limit", limit);
                told(
                    "http.response.header.anthropic-ratelimit-output-tokens-remaining",
                    (remaining + 500) / 1000 * 1000,
                );
            }
        }
        Headers::Azure => {
            if let Some((limit, remaining)) = allowance.requests {
                told("http.response.header.x-ratelimit-limit-requests", limit);
                told("http.response.header.x-ratelimit-remaining-requests", remaining);
            }
            if let Some((limit, remaining)) = allowance.tokens {
                told("http.response.header.x-ratelimit-limit-tokens", limit);
                told("http.response.header.x-ratelimit-remaining-tokens", left(remaining));
            }
        }
    }
    if let (Some(wait), true) = (retry_after, style != Headers::None) {
        told("http.response.header.retry-after", wait.div_ceil(SECOND) as i64);
        if style == Headers::Azure {
            told("http.response.header.retry-after-ms", wait.div_ceil(MILLI) as i64);
        }
    }
}
