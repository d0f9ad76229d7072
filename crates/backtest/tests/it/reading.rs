//! Rows of request traces become requests, or are refused with their line.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use plimsoll_backtest::{ReadError, Requests, read_requests};
use plimsoll_replay::Micros;

fn read(text: &str) -> Result<Requests, ReadError> {
    read_requests("trace.csv", "trace", text.as_bytes(), 1)
}

/// Protects known columns: by any name that `ingest` knows, in any order, with the tier, the client
/// and the cache that a row tells; rows come in order of time.
#[test]
fn columns_by_name() -> Result<(), ReadError> {
    let requests = read(
        "tenant;Generated Tokens;ts;prompt_tokens;cached_tokens;tier;latency_ms\n\
         acme;20;2026-01-01T00:00:02Z;100;60;;\n\
         beta;5;2026-01-01 00:00:01;50;;3;1500\n\
         acme;1;2026-01-01T00:00:03.5Z;10;99;0;\n",
    )?;
    let told: Vec<_> =
        requests.requests.iter().map(|of| (of.client, of.tier, of.input, of.cache_read, of.output)).collect();
    assert_eq!(told, [(1, 3, 50, 0, 5), (0, 1, 100, 60, 20), (0, 0, 10, 10, 1)]);
    assert_eq!(requests.clients, ["acme", "beta"]);
    assert_eq!(requests.requests[0].latency, Micros::millis(1500));
    let from = requests.requests[0].at;
    assert_eq!(requests.requests[2].at - from, Micros::millis(2500));
    assert_eq!(from.0, 1_767_225_601_000_000);
    Ok(())
}

/// Protects Mooncake's traces: times count from their start, and a shared prefix is read from a cache.
#[test]
fn times_from_the_start_and_cached_prefixes() -> Result<(), ReadError> {
    let requests = read(
        "{\"timestamp\": 0, \"input_length\": 1200, \"output_length\": 3, \"hash_ids\": [1, 2, 3]}\n\n\
         {\"timestamp\": 1500, \"input_length\": 1100, \"output_length\": 4, \"hash_ids\": [1, 2, 4]}\n",
    )?;
    let told: Vec<_> = requests.requests.iter().map(|of| (of.at, of.input, of.cache_read)).collect();
    assert_eq!(told, [(Micros::ZERO, 1200, 0), (Micros::millis(1500), 1100, 1024)]);
    Ok(())
}

/// Protects from half-read histories: what is no request is refused, with file and line.
#[test]
fn what_is_no_request_is_refused() {
    for (text, line, hint) in [
        ("  \n", None, "empty"),
        ("time,input_tokens,output_tokens\n", None, "no request"),
        ("time,tokens\n2026-01-01T00:00:00Z,1\n", Some(1), "input_tokens"),
        ("time,input_tokens,output_tokens\nsoon,1,1\n", Some(2), "`soon` is not a time"),
        ("time,input_tokens,output_tokens\n2026-01-01T00:00:00Z,1,\n", Some(2), "no output_tokens"),
        ("time,input_tokens,output_tokens\n2026-01-01T00:00:00Z,-1,1\n", Some(2), "no input_tokens"),
        ("time,input_tokens,output_tokens,tier\n2026-01-01T00:00:00Z,1,1,7\n", Some(2), "tier"),
        ("time,input_tokens,output_tokens\n0,1,1\n2026-01-01T00:00:00Z,1\n", Some(3), "no output_tokens"),
        ("{\"timestamp\": 1, \"input_length\": 1, \"output_length\": 1}\nnot json\n", Some(2), "JSON"),
        (
            "{\"timestamp\": 1, \"input_length\": 1, \"output_length\": 1, \"hash_ids\": [\"x\"]}\n",
            Some(1),
            "hash_ids",
        ),
    ] {
        let error = read(text).map(|_| ()).unwrap_err();
        assert_eq!((error.file.as_str(), error.line), ("trace.csv", line), "{text}: {error}");
        assert!(error.problem.contains(hint), "{text}: {error}");
    }
}
