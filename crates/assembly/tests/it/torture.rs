//! Public failures that must not be ours, by their id in the list of torture inputs.

use plimsoll_assembly::{Kind, Outcome, Span, Tokens, UsageSource, assemble, quality};

use crate::make::{T0, chat, refused, silent_chat, span, tokens, tool};

/// T01: cached tokens are part of the input, not added on top of it.
#[test]
fn t01_cached_tokens_are_counted_once() {
    let split = Tokens {
        input_tokens: Some(130_213),
        input_uncached: Some(5),
        cache_read: Some(128_955),
        cache_write: Some(1_253),
        output_tokens: Some(700),
        reasoning_tokens: None,
    };
    let got = assemble("r", vec![Span { tokens: split, ..chat("a", "", 0, 10, 0, 0) }]);
    assert_eq!(got.run.tokens, split);
    let sum = split.input_uncached.zip(split.cache_read).zip(split.cache_write).map(|((u, r), w)| u + r + w);
    assert_eq!(sum, got.run.known_input_tokens);
}

/// T02: wrappers, agents and tools repeat what their calls used.
#[test]
fn t02_totals_above_calls_are_not_added() {
    let agent = Span { tokens: tokens(29_899, 0), ..span("a", "", Kind::Agent, 0, 100) };
    let got = assemble("r", vec![agent, chat("b", "a", 0, 50, 20_000, 0), chat("c", "a", 50, 100, 9_899, 0)]);
    assert_eq!((got.run.tokens.input_tokens, got.run.model_calls), (Some(29_899), Some(2)));

    let deep = vec![
        Span { tokens: tokens(2_952, 0), ..span("a", "", Kind::Agent, 0, 100) },
        Span { tokens: tokens(2_952, 0), ..tool("b", "a", 10, 90, "ask") },
        chat("c", "b", 20, 80, 2_952, 0),
    ];
    let got = assemble("r", deep);
    assert_eq!(
        (got.run.tokens.input_tokens, got.run.model_calls, got.run.tool_calls),
        (Some(2_952), Some(1), Some(1))
    );

    let got = assemble("r", vec![chat("a", "", 0, 100, 580, 7), chat("b", "a", 1, 99, 580, 7)]);
    assert_eq!((got.run.tokens.input_tokens, got.run.model_calls), (Some(580), Some(1)));
    assert_eq!(got.model_calls[0].span_id, "b");
}

/// T03: one call recorded by two libraries side by side.
#[test]
fn t03_two_libraries_one_call() {
    let pair = |first: Option<&'static str>, second: Option<&'static str>| {
        let one = Span {
            scope: Some("openinference.openai"),
            response_id: first,
            ..chat("a", "r", 0, 100, 500, 80)
        };
        let two = Span {
            scope: Some("opentelemetry.openai_v2"),
            response_id: second,
            ..chat("b", "r", 2, 99, 500, 80)
        };
        assemble("r", vec![span("r", "", Kind::Request, 0, 120), one, two]).run
    };
    let same = pair(Some("resp-1"), Some("resp-1"));
    assert_eq!((same.model_calls, same.known_input_tokens), (Some(1), Some(500)));
    let different = pair(Some("resp-1"), Some("resp-2"));
    assert_eq!((different.model_calls, different.known_input_tokens), (Some(2), Some(1_000)));
    assert!(!different.quality.contains(&quality::POSSIBLE_DOUBLE_INSTRUMENTATION));
    let unknown = pair(None, None);
    assert_eq!((unknown.model_calls, unknown.known_input_tokens), (Some(2), Some(1_000)));
    assert!(unknown.quality.contains(&quality::POSSIBLE_DOUBLE_INSTRUMENTATION));
}

/// T04: money and tokens come from one set of requests: what is billed sums to the run's totals.
#[test]
fn t04_billed_attempts_sum_to_the_total() {
    let spans = vec![
        Span { tokens: tokens(29_899, 50), ..span("a", "", Kind::Agent, 0, 300) },
        refused("b", "a", 0, 5, 429),
        chat("c", "a", 10, 50, 20_000, 30),
        chat("d", "a", 50, 100, 9_899, 20),
    ];
    let got = assemble("r", spans);
    let billed: i64 = got.attempts.iter().filter(|a| a.billed).filter_map(|a| a.tokens.input_tokens).sum();
    assert_eq!(Some(billed), got.run.tokens.input_tokens);
    assert_eq!(got.attempts.iter().filter(|a| a.billed).count(), 2);
}

/// T05: one operation, attempts 429, 429, 200, everything delivered three times.
#[test]
fn t05_operations_attempts_and_repeats() {
    let once = vec![
        span("r", "", Kind::Request, 0, 1_000),
        refused("a", "r", 0, 10, 429),
        refused("b", "r", 100, 110, 429),
        chat("c", "r", 300, 900, 1_000, 50),
    ];
    let got = assemble("r", [once.clone(), once.clone(), once].concat());
    let run = &got.run;
    assert_eq!(run.model_calls, Some(1));
    assert_eq!((run.model_attempts, run.throttled_attempts, run.retries), (Some(3), Some(2), Some(2)));
    assert_eq!((run.tokens.input_tokens, run.tokens.output_tokens), (Some(1_000), Some(50)));
    assert_eq!(run.spans, 4);
    let operation = &got.model_calls[0];
    assert_eq!((operation.span_id, operation.attempts, operation.duration_ms), ("c", Some(3), Some(900.0)));
    assert_eq!(operation.start_time, T0 / 1_000);
    let numbers: Vec<_> =
        got.attempts.iter().map(|a| (a.attempt, a.throttled, a.billed, a.operation_span_id)).collect();
    assert_eq!(numbers, [(1, true, false, "c"), (2, true, false, "c"), (3, false, true, "c")]);
}

/// T06: streams without usage are missing, not zero.
#[test]
fn t06_missing_usage_is_not_zero() {
    let ids = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
    let calls = ids.iter().enumerate().map(|(i, id)| {
        let at = i as i64 * 10;
        if i < 6 { chat(id, "r", at, at + 9, 1_000, 10) } else { silent_chat(id, "r", at, at + 9) }
    });
    let got = assemble("r", std::iter::once(span("r", "", Kind::Agent, 0, 200)).chain(calls).collect());
    assert_eq!(got.run.tokens, Tokens::default());
    assert_eq!((got.run.known_input_tokens, got.run.usage_coverage), (Some(6_000), Some(0.6)));
    assert_eq!(got.model_calls.iter().filter(|call| call.tokens.input_tokens.is_some()).count(), 6);
    assert!(got.model_calls.iter().skip(6).all(|call| call.usage_source == UsageSource::Missing));
    assert!(got.run.quality.contains(&quality::USAGE_MISSING));

    let zero = assemble("r", vec![chat("a", "", 0, 9, 0, 0)]);
    assert_eq!(zero.run.tokens.input_tokens, None);
    assert!(zero.run.quality.contains(&quality::ZERO_USAGE));
}

/// T07: what a framework's cache answered, no provider served.
#[test]
fn t07_cache_hits_cost_nothing() {
    let hit = Span { quality: vec![quality::CACHE_HIT], ..chat("a", "", 0, 1, 900, 100) };
    let got = assemble("r", vec![hit]);
    assert_eq!((got.run.model_calls, got.run.model_attempts), (Some(1), Some(0)));
    assert_eq!((got.run.tokens.input_tokens, got.run.tokens.output_tokens), (Some(0), Some(0)));
    assert!(got.attempts.is_empty());
}

/// T17: no first token, no time to it; absurd ones are dropped.
#[test]
fn t17_time_to_first_token_is_sane() {
    let with = |ttft_ms, streaming| {
        let call = Span { ttft_ms, streaming, ..chat("a", "", 1_000, 3_000, 10, 90) };
        assemble("r", vec![call]).model_calls[0].ttft_ms
    };
    assert_eq!(with(None, Some(true)), None);
    assert_eq!(with(Some(-1.75e12), Some(true)), None);
    assert_eq!(with(Some(0.0), Some(true)), None);
    assert_eq!(with(Some(2_001.0), None), None);
    assert_eq!(with(Some(1_999.0), None), None, "the duration under another name");
    assert_eq!(with(Some(300.0), Some(false)), None, "not streamed");
    assert_eq!(with(Some(300.0), None), Some(300.0));
    let failed = assemble("r", vec![refused("a", "", 0, 20, 429), chat("b", "", 100, 2_100, 1, 1)]);
    let ok: Vec<_> = failed.attempts.iter().filter(|a| !a.throttled).map(|a| a.duration_ms).collect();
    assert_eq!(ok, [Some(2_000.0)]);
}

/// T19: an end before the start is no duration; a child that outlives its parent is no debt.
#[test]
fn t19_clocks_disagree() {
    let backwards =
        Span { duration_ms: None, quality: vec!["negative_duration"], ..chat("a", "", 5, 5, 1, 1) };
    let got = assemble("r", vec![backwards]);
    assert_eq!((got.run.duration_ms, got.model_calls[0].duration_ms), (None, None));
    assert_eq!(got.run.quality.iter().filter(|code| **code == "negative_duration").count(), 1);

    let mut child = chat("b", "a", 0, 100, 1, 1);
    child.duration_ms = Some(100.001);
    let got = assemble("r", vec![span("a", "", Kind::Agent, 0, 100), child]);
    assert_eq!(
        (got.run.duration_ms, got.run.own_ms, got.run.model_ms),
        (Some(100.0), Some(0.0), Some(100.0))
    );
}

/// T23: a run without its root is open; the late root settles it in the month in which it started.
#[test]
fn t23_late_roots() {
    let january = 1_769_903_400_000_000_000; // 2026-01-31T23:50:00Z
    let at = |mut span: Span<'static>, start: i64, end: i64| {
        span.start_unix_nano = start;
        span.duration_ms = Some((end - start) as f64 / 1e6);
        span
    };
    let minute = 60_000_000_000;
    let root = at(span("r", "", Kind::Request, 0, 0), january, january + 130 * minute);
    let child = at(chat("a", "r", 0, 0, 100, 10), january + 5 * minute, january + 6 * minute);
    let late = at(chat("b", "r", 0, 0, 50, 5), january + 20 * minute, january + 21 * minute);

    let open = assemble("r", vec![child.clone()]);
    assert_eq!((open.run.outcome, open.run.duration_ms, open.run.complete), (Outcome::Open, None, false));
    assert!(open.run.quality.contains(&quality::PARENT_MISSING));
    let closed = assemble("r", vec![late, child, root]);
    assert_eq!((closed.run.outcome, closed.run.complete), (Outcome::Ok, true));
    assert_eq!(closed.run.start_time, january / 1_000);
    assert_eq!(closed.run.duration_ms, Some(7_800_000.0));
    assert_eq!(closed.run.tokens.input_tokens, Some(150));
}

/// T28: the same span twice is one; two spans under one id are two, unless one answer's.
#[test]
fn t28_repeats_and_reused_ids() {
    let precise = Span { start_unix_nano: T0 + 123_456_000, ..chat("a", "", 0, 50, 100, 10) };
    let cut = Span { start_unix_nano: T0 + 123_000_000, duration_ms: Some(50.456), ..precise.clone() };
    let got = assemble("r", vec![cut, precise.clone(), precise]);
    assert_eq!((got.run.spans, got.run.model_calls, got.run.tokens.input_tokens), (1, Some(1), Some(100)));
    assert!(!got.run.quality.contains(&quality::SPAN_ID_CONFLICT));

    let conflict = |first, second| {
        let one = Span { name: Some("one"), response_id: first, ..chat("a", "r", 0, 50, 100, 10) };
        let two = Span { name: Some("two"), response_id: second, ..chat("a", "r", 60, 90, 100, 10) };
        assemble("r", vec![span("r", "", Kind::Agent, 0, 100), one, two]).run
    };
    let apart = conflict(None, None);
    assert_eq!((apart.spans, apart.model_calls, apart.tokens.input_tokens), (3, Some(2), Some(200)));
    assert!(apart.quality.contains(&quality::SPAN_ID_CONFLICT));
    let one = conflict(Some("resp"), Some("resp"));
    assert_eq!((one.spans, one.model_calls, one.tokens.input_tokens), (3, Some(1), Some(100)));
}

/// Of two snapshots the later end wins, then the larger counts; they are never added.
#[test]
fn snapshots_are_not_added() {
    let early = chat("a", "", 0, 50, 100, 10);
    let later = chat("a", "", 0, 60, 90, 9);
    let fuller = chat("a", "", 0, 60, 120, 12);
    let got = assemble("r", vec![early, fuller, later]);
    assert_eq!((got.run.tokens.input_tokens, got.run.duration_ms, got.run.spans), (Some(120), Some(60.0), 1));
}
