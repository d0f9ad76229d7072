//! Operations, their attempts, and what became of them.

use plimsoll_assembly::{Kind, Outcome, RetryLayer, Span, Status, UsageSource, assemble, quality};

use crate::make::{chat, refused, silent_chat, span};

/// A framework and the client library below it whose contexts lost each other (LangChain).
#[test]
fn unrelated_doubles_are_one_call_each() {
    let scoped = |scope, span| Span { scope: Some(scope), ..span };
    let (framework, client) =
        ("openinference.instrumentation.langchain", "openinference.instrumentation.openai");
    let spans = vec![
        span("r", "", Kind::Request, 0, 2_000),
        Span { step: Some("model"), ..span("m", "r", Kind::Step, 0, 100) },
        scoped(framework, chat("l1", "m", 2, 98, 500, 50)),
        scoped(client, chat("o1", "r", 3, 97, 500, 50)),
        scoped(framework, Span { status: Status::Error, ..silent_chat("l2", "r", 500, 528) }),
        scoped(client, Span { status: Status::Error, model: None, ..silent_chat("o2", "r", 501, 524) }),
        scoped(framework, chat("l3", "r", 1_000, 1_168, 600, 60)),
        scoped(client, chat("o3", "r", 1_001, 1_167, 600, 60)),
    ];
    let got = assemble("r", spans);
    assert_eq!((got.run.model_calls, got.run.tokens.input_tokens), (Some(2), Some(1_100)));
    assert_eq!((got.run.model_attempts, got.run.retries), (Some(3), Some(1)));
    assert_eq!((got.model_calls[0].span_id, got.model_calls[0].step), ("o1", Some("model")));
}

/// A task that fails on its only call and is run again: one operation, said to be assumed.
#[test]
fn a_retry_farther_up_is_a_retry() {
    let named = |name, span| Span { name: Some(name), ..span };
    let spans = vec![
        span("r", "", Kind::Request, 0, 2_000),
        named("audit", Span { status: Status::Error, ..span("a1", "r", Kind::Agent, 0, 30) }),
        refused("x", "a1", 1, 29, 429),
        named("audit", span("a2", "r", Kind::Agent, 500, 700)),
        chat("c", "a2", 501, 699, 100, 10),
        named("report", span("a3", "r", Kind::Agent, 700, 800)),
        chat("d", "a3", 701, 799, 100, 10),
    ];
    let got = assemble("r", spans);
    assert_eq!((got.run.model_calls, got.run.model_attempts, got.run.retries), (Some(2), Some(3), Some(1)));
    assert!(got.run.quality.contains(&quality::RETRY_ASSUMED));
}

/// Numbered attempts are tries of one operation, also on another model; a first attempt never is.
#[test]
fn numbered_attempts() {
    let numbered = |attempt, span| Span { attempt: Some(attempt), ..span };
    let spans = vec![
        span("r", "", Kind::Agent, 0, 1_000),
        numbered(1, refused("a", "r", 0, 10, 429)),
        numbered(2, Span { model: Some("claude-haiku-4-5"), ..chat("b", "r", 20, 90, 10, 1) }),
        numbered(1, refused("c", "r", 100, 110, 429)),
        numbered(1, chat("d", "r", 200, 290, 10, 1)),
    ];
    let got = assemble("r", spans);
    assert_eq!((got.run.model_calls, got.run.model_attempts, got.run.retries), (Some(3), Some(4), Some(1)));
    let failed = &got.model_calls[1];
    assert_eq!(
        (failed.span_id, failed.status, failed.usage_source),
        ("c", Status::Error, UsageSource::Missing)
    );
    assert_eq!(got.run.tokens.input_tokens, Some(20), "a failed operation used nothing");
}

/// A count of resends makes attempts of which nothing else is known.
#[test]
fn resends_are_attempts_without_detail() {
    let got = assemble(
        "r",
        vec![Span { retries: Some(2), http_status: Some(200), ..chat("a", "", 0, 900, 10, 1) }],
    );
    assert_eq!(
        (got.run.model_attempts, got.run.retries, got.run.throttled_attempts),
        (Some(3), Some(2), None)
    );
    let rows: Vec<_> =
        got.attempts.iter().map(|a| (a.attempt, a.billed, a.duration_ms, a.tokens.input_tokens)).collect();
    assert_eq!(rows, [(1, false, None, None), (2, false, None, None), (3, true, Some(900.0), Some(10))]);

    let absurd = assemble("r", vec![Span { retries: Some(i32::MAX), ..chat("a", "", 0, 900, 10, 1) }]);
    assert_eq!(absurd.attempts.len(), 1);
    assert!(absurd.run.quality.contains(&quality::RETRIES_IMPLAUSIBLE));
}

/// A client that shows nothing of its requests leaves their number unknown.
#[test]
fn unknown_attempts_are_null() {
    let got = assemble("r", vec![chat("a", "", 0, 900, 10, 1)]);
    assert_eq!((got.run.model_calls, got.run.model_attempts, got.run.retries), (Some(1), None, None));
    assert_eq!(got.attempts.len(), 1);
    assert!(got.run.quality.contains(&quality::ATTEMPTS_UNKNOWN));
}

/// A provider that is overloaded does not throttle, and a bad request is not tried again.
#[test]
fn capacity_is_not_throttling() {
    let spans = vec![
        span("r", "", Kind::Agent, 0, 1_000),
        refused("a", "r", 0, 10, 529),
        refused("b", "r", 20, 30, 400),
        chat("c", "r", 40, 90, 10, 1),
    ];
    let got = assemble("r", spans);
    assert_eq!((got.run.throttled_attempts, got.run.model_attempts), (Some(0), Some(3)));
    assert_eq!(got.model_calls.len(), 2, "529 then 400 is one failed operation, then comes another");
}

/// The root's failure is named by its cause.
#[test]
fn outcomes() {
    let failed_by = |status| {
        let root = Span { status: Status::Error, ..span("r", "", Kind::Request, 0, 100) };
        assemble("r", vec![root, refused("a", "r", 0, 90, status)]).run.outcome
    };
    assert_eq!(failed_by(429), Outcome::Throttled);
    assert_eq!(failed_by(504), Outcome::Timeout);
    assert_eq!(failed_by(529), Outcome::Error);
    let root = Span { http_status: Some(408), ..span("r", "", Kind::Request, 0, 100) };
    assert_eq!(assemble("r", vec![root]).run.outcome, Outcome::Timeout);
    let recovered = vec![
        span("r", "", Kind::Request, 0, 100),
        refused("a", "r", 0, 9, 429),
        chat("b", "r", 10, 20, 1, 1),
    ];
    assert_eq!(assemble("r", recovered).run.outcome, Outcome::Ok);
}

/// HTTP spans below a call are its requests: a retry inside the library is seen, with its 429; one below
/// a failed call is that call's only request; the layer beneath an HTTP span adds none.
#[test]
fn http_spans_are_requests() {
    let http = |id, parent, from, to, status| Span {
        http_status: Some(status),
        scope: Some("http client"),
        ..span(id, parent, Kind::Other, from, to)
    };
    let failed = Span { status: Status::Error, error_type: Some("APIError"), ..silent_chat("c", "r", 0, 40) };
    let got = assemble(
        "r",
        vec![
            span("r", "", Kind::Request, 0, 2_000),
            failed,
            http("c1", "c", 3, 36, 429),
            chat("d", "r", 100, 1_200, 100, 10),
            http("d1", "d", 103, 136, 503),
            http("d2", "d", 1_000, 1_100, 200),
            http("d3", "d2", 1_001, 1_099, 200),
        ],
    );
    assert_eq!(
        (got.run.model_calls, got.run.model_attempts, got.run.throttled_attempts),
        (Some(1), Some(3), Some(1))
    );
    let told: Vec<_> = got
        .attempts
        .iter()
        .map(|a| (a.attempt, a.http_status, a.throttled, a.billed, a.layer, a.after))
        .collect();
    assert_eq!(
        told,
        [
            (1, Some(429), true, false, None, None),
            (2, Some(503), false, false, Some(RetryLayer::Application), Some("throttled")),
            (3, Some(200), false, true, Some(RetryLayer::Client), Some("capacity")),
        ]
    );
    assert!(!got.run.quality.contains(&quality::ATTEMPTS_UNKNOWN));
}

/// A try that timed out and is sent again as it was is told apart from one with a smaller cap.
#[test]
fn retries_after_a_timeout() {
    let timed_out = |id, from, to, cap| Span {
        status: Status::Error,
        error_type: Some("timeout"),
        max_output_tokens: Some(cap),
        ..silent_chat(id, "r", from, to)
    };
    let spans = |cap| {
        vec![
            span("r", "", Kind::Request, 0, 2_000),
            timed_out("a", 0, 600, 4_096),
            Span { max_output_tokens: Some(cap), ..chat("b", "r", 700, 900, 100, 10) },
        ]
    };
    assert_eq!(assemble("r", spans(4_096)).run.retries_after_timeout, Some(1));
    let smaller = assemble("r", spans(512));
    assert_eq!((smaller.run.retries, smaller.run.retries_after_timeout), (Some(1), Some(0)));
}

/// A list of fallbacks below one wrapper is one operation, also where the answer comes of another pool.
#[test]
fn failover_to_another_pool() {
    let pooled = |pool, span| Span { pool: Some(pool), model: Some(pool), ..span };
    let got = assemble(
        "r",
        vec![
            span("w", "", Kind::ModelCall, 0, 500),
            pooled("gpt", refused("a", "w", 1, 20, 429)),
            pooled("claude", chat("b", "w", 30, 490, 100, 10)),
        ],
    );
    assert_eq!((got.run.model_calls, got.run.model_attempts), (Some(1), Some(2)));
    let pools: Vec<_> = got.attempts.iter().map(|a| (a.pool, a.throttled, a.unchanged)).collect();
    assert_eq!(pools, [(Some("gpt"), true, None), (Some("claude"), false, Some(false))]);
}

/// Where models asked for tools and no span shows one, their number is unknown, not zero.
#[test]
fn tools_not_traced() {
    let asking = Span { finish_reason: Some("tool_calls"), ..chat("a", "r", 0, 10, 100, 10) };
    let silent = assemble("r", vec![span("r", "", Kind::Request, 0, 20), asking.clone()]);
    assert_eq!((silent.run.tool_calls, silent.run.expansion), (None, None));
    assert!(silent.run.quality.contains(&quality::TOOLS_NOT_TRACED));
    let shown = vec![span("r", "", Kind::Request, 0, 20), asking, span("t", "r", Kind::ToolCall, 11, 15)];
    assert_eq!(assemble("r", shown).run.tool_calls, Some(1));
}
