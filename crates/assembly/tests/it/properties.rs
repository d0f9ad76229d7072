//! What holds for every run: the order, the batches and the repeats of its spans never show, and no
//! shape of it costs more than its size.

use std::time::Instant;

use plimsoll_assembly::{Kind, Span, Status, Tokens, assemble, quality};
use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};

use crate::make::{T0, chat, span};

const IDS: [&str; 14] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n"];
const KINDS: [Kind; 7] = [
    Kind::ModelCall,
    Kind::ModelCall,
    Kind::ToolCall,
    Kind::Agent,
    Kind::Embedding,
    Kind::Step,
    Kind::Request,
];

/// A span of any kind, anywhere, that says anything.
fn any_span() -> impl Strategy<Value = Span<'static>> {
    let place =
        (select(&IDS[..]), prop::option::of(select(&IDS[..])), select(&KINDS[..]), 0_i64..40, 0_i64..30);
    let ended = (prop::bool::weighted(0.9), select(vec![Status::Ok, Status::Error, Status::Unset]));
    let answer = (
        prop::option::of(select(vec![200, 429, 500, 400])),
        prop::option::of(select(vec!["app", "langchain", "openai"])),
        prop::option::weighted(0.3, select(vec!["r1", "r2"])),
        prop::option::of(select(vec!["gpt-4.1", "gpt-4.1-2025-04-14", "claude"])),
    );
    let counts =
        (prop::option::of(0_i64..1_000), prop::option::of(0_i64..100), prop::option::weighted(0.2, 1..4));
    (place, ended, answer, counts).prop_map(|(place, ended, answer, counts)| {
        let (span_id, parent_span_id, kind, start, length) = place;
        Span {
            parent_span_id,
            duration_ms: ended.0.then_some(length as f64),
            status: ended.1,
            http_status: answer.0,
            scope: answer.1,
            response_id: answer.2,
            model: answer.3,
            tokens: Tokens { input_tokens: counts.0, output_tokens: counts.1, ..Tokens::default() },
            attempt: counts.2,
            received_at: start,
            ..span(span_id, "", kind, start, start + length)
        }
    })
}

proptest! {
    /// Shuffling, splitting and duplicating the spans of a run never changes its rows.
    #[test]
    fn order_and_repeats_do_not_show(
        spans in prop::collection::vec(any_span(), 0..14),
        seed in prop::collection::vec(any::<Index>(), 0..14),
        again in subsequence((0..14_usize).collect::<Vec<_>>(), 0..14),
    ) {
        let mut delivered = spans.clone();
        delivered.extend(again.iter().filter_map(|&i| spans.get(i).cloned()));
        for (i, index) in seed.iter().enumerate() {
            if i < delivered.len() {
                let j = index.index(delivered.len());
                delivered.swap(i, j);
            }
        }
        prop_assert_eq!(assemble("r", spans), assemble("r", delivered));
    }

    /// Operations, attempts and totals agree with each other.
    #[test]
    fn rows_agree(spans in prop::collection::vec(any_span(), 0..14)) {
        let got = assemble("r", spans);
        let generations = got.model_calls.iter().filter(|call| call.kind == Kind::ModelCall).count() as i64;
        prop_assert!(got.run.model_calls.is_none_or(|calls| calls == generations));
        for call in &got.model_calls {
            let rows = got.attempts.iter().filter(|attempt| attempt.operation_span_id == call.span_id);
            prop_assert!(call.attempts.is_none_or(|n| n <= rows.count() as i64));
        }
        prop_assert!(got.run.tokens.input_tokens.is_none_or(|total| Some(total) == got.run.known_input_tokens));
        prop_assert!(got.run.own_ms.is_none_or(|own| own >= 0.0));
        prop_assert!(got.run.usage_coverage.is_none_or(|share| (0.0..=1.0).contains(&share)));
    }
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|i| format!("{i:016x}")).collect()
}

/// Cycles, 10,000 children, a depth of 5,000 and 10,000 failures cost no more than their number.
#[test]
fn hostile_shapes() {
    let began = Instant::now();
    let ids = names(10_001);
    let child = |i: usize, parent: usize| {
        let at = i as i64;
        Span {
            scope: Some(if i.is_multiple_of(2) { "x" } else { "y" }),
            ..chat(&ids[i], &ids[parent], at, at + 20_000, 1, 1)
        }
    };
    let root = || span(&ids[0], "", Kind::Agent, 0, 40_000);

    let wide = assemble("r", std::iter::once(root()).chain((1..=10_000).map(|i| child(i, 0))).collect());
    assert_eq!(wide.run.model_calls, Some(10_000));
    assert_eq!(wide.run.max_parallel_model_calls, Some(10_000));

    let deep = assemble("r", std::iter::once(root()).chain((1..=5_000).map(|i| child(i, i - 1))).collect());
    assert_eq!((deep.run.model_calls, deep.run.tokens.input_tokens), (Some(1), Some(1)));
    let deep_tools = (1..=5_000).map(|i| Span { kind: Kind::ToolCall, tool: Some("t"), ..child(i, i - 1) });
    assert_eq!(assemble("r", std::iter::once(root()).chain(deep_tools).collect()).run.tool_calls, Some(1));

    let failing = (1..=10_000).map(|i| Span {
        status: Status::Error,
        http_status: Some(429),
        start_unix_nano: T0 + i as i64 * 1_000_000,
        duration_ms: Some(0.5),
        ..child(i, 0)
    });
    let stormy = assemble("r", std::iter::once(root()).chain(failing).collect());
    assert_eq!((stormy.run.model_calls, stormy.run.throttled_attempts), (Some(1), Some(10_000)));

    let ring = assemble("r", (0..10_000).map(|i| child(i, (i + 1) % 10_000)).collect());
    assert!(ring.run.quality.contains(&quality::PARENT_CYCLE) && !ring.run.complete);
    let narcissus = assemble("r", vec![child(1, 1)]);
    assert_eq!(
        (narcissus.run.model_calls, narcissus.run.quality.contains(&quality::PARENT_CYCLE)),
        (Some(1), true)
    );

    let reused = (1..=10_000).map(|i| Span { span_id: "x", ..child(i, 0) });
    assert_eq!(assemble("r", reused.collect()).run.spans, 10_000);
    assert!(began.elapsed().as_secs() < 20, "hostile shapes took {:?}", began.elapsed());
}
