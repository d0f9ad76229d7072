//! The public traces, as they are.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a failed step is a failed test; a skipped one says so"
)]

use std::path::PathBuf;

use plimsoll_backtest::{Measure, Requests, backtest, read_requests};

/// The requests of a public trace; nothing where it is not here.
fn public(path: &str) -> Option<Requests> {
    let folder = std::env::var("PLIMSOLL_SHARED")
        .map_or_else(|_| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let file = folder.join("data").join(path);
    if !file.is_file() {
        println!("skipped: {} is not there", file.display());
        return None;
    }
    Some(read_requests(path, path, &std::fs::read(file).unwrap(), 0).unwrap())
}

/// Known answers: rows and sums of Azure's conversations, as `ingest` counts them.
#[test]
fn azure_conversations() {
    let Some(requests) = public("azure2023/AzureLLMInferenceTrace_conv.csv") else { return };
    let sum = |of: fn(&plimsoll_backtest::Request) -> u64| requests.requests.iter().map(of).sum::<u64>();
    assert_eq!(requests.requests.len(), 19_366);
    assert_eq!((sum(|of| of.input), sum(|of| of.output)), (22_361_870, 4_088_665));
    let demand: u64 = requests.trace(Measure::Tokens).demand().iter().sum();
    assert!(demand < 22_361_870 + 4_088_665, "the first and the last minute are not whole");
}

/// Known answers: Mooncake's paper (FAST25) tells 12,031 and 3,993 requests, of whose input some 40 and
/// 66 % could be read from an unbounded cache.
#[test]
fn mooncake_caches() {
    for (path, count, share) in
        [("mooncake/conversation_trace.jsonl", 12_031, 0.40), ("mooncake/synthetic_trace.jsonl", 3_993, 0.66)]
    {
        let Some(requests) = public(path) else { return };
        let sum = |of: fn(&plimsoll_backtest::Request) -> u64| requests.requests.iter().map(of).sum::<u64>();
        let cached = sum(|of| of.cache_read) as f64 / sum(|of| of.input) as f64;
        assert_eq!(requests.requests.len(), count);
        assert!((cached - share).abs() < 0.03, "{path}: {cached}");
    }
}

/// Protects the goal on a trace that can meet it: Mooncake's conversations are covered to 99 % at less
/// than 1.5 times their largest minute, which P95 misses by far.
#[test]
fn mooncake_conversations_hold() {
    let Some(requests) = public("mooncake/conversation_trace.jsonl") else { return };
    let scores = backtest(&requests.trace(Measure::Tokens), 2).unwrap();
    let covered = scores[0].covered as f64 / scores[0].windows as f64;
    assert!(covered >= 0.99 && scores[0].over_provision.unwrap() <= 1.5, "{scores:?}");
    assert!(scores[1].over_provision.unwrap() > 2.0);
}
