//! Operations, their attempts, and what became of them.

use plimsoll_assembly::{Kind, Outcome, Span, Status, UsageSource, assemble, quality};

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
