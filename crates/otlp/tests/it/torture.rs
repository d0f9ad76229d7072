//! The public failures of facts/torture.md that decoding must survive, by their ids.

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::trace::v1::Span;
use plimsoll_otlp::{DecodeError, Encoding};
use proptest::prelude::*;
use prost::Message;

use crate::files::schema;
use crate::support::{Row, START, attribute, decode, request, row, row_of, rows, shared, span, try_decode};

/// T18: each span of a sampled hundred stands for four.
#[test]
fn t18_sampled_spans_have_weights() {
    let spans = (1..=100).map(|id| Span {
        span_id: vec![id; 8],
        trace_state: "ot=th:c".to_owned(),
        ..span(Vec::new())
    });
    let decoded = decode(&request(spans.collect(), "s", ""));
    assert_eq!(rows(&decoded.spans).filter_map(|row| row.float("weight")).sum::<f64>(), 400.0);
    assert!(rows(&decoded.spans).all(|row| row.quality() == ["sampled"]));
}

/// T19: an end before the start is no duration of centuries.
#[test]
fn t19_negative_duration_is_null() {
    let row = row_of(Span { end_time_unix_nano: START - 1, ..span(Vec::new()) }, "s", "");
    assert_eq!(row.float("duration_ms"), None);
    assert_eq!(row.quality(), ["negative_duration"]);
    let row = row_of(Span { end_time_unix_nano: 0, ..span(Vec::new()) }, "s", "");
    assert_eq!((row.float("duration_ms"), row.quality()), (None, vec!["no_end".to_owned()]));
    let row = row_of(Span { end_time_unix_nano: START, ..span(Vec::new()) }, "s", "");
    assert_eq!((row.float("duration_ms"), row.quality()), (Some(0.0), vec![]));
}

/// T20: starts that are none are put aside as they came, and neighbours stay.
#[test]
fn t20_impossible_starts_are_quarantined() {
    let starts = [0, 1, 1_700_000_000_000, i64::MAX as u64, i64::MAX as u64 + 1, u64::MAX];
    let spans =
        starts.iter().chain([&START]).map(|start| Span { start_time_unix_nano: *start, ..span(Vec::new()) });
    let decoded = decode(&request(spans.collect(), "s", ""));
    assert_eq!((decoded.received, decoded.rejected), (7, 0));
    assert_eq!(decoded.spans.num_rows(), 1);
    for (row, start) in rows(&decoded.quarantined).zip(starts) {
        assert_eq!(row.text("reason"), Some("time_out_of_range"));
        assert_eq!(row.text("start_unix_nano"), Some(&*start.to_string()));
        assert_eq!(row.text("service"), Some("finance-agents"));
    }
    assert_eq!(decoded.quarantined.num_rows(), 6);
}

/// T24: hex of either case is an id; base64 is none, and only its own span is rejected.
#[test]
fn t24_base64_ids_are_rejected_one_by_one() {
    let body = |id: &str| {
        format!(
            r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[
            {{"traceId":"{id}","spanId":"EEE19B7EC3C1B174","startTimeUnixNano":"{START}"}},
            {{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174","startTimeUnixNano":{START}}}]}}]}}]}}"#
        )
    };
    let upper = try_decode(body("5B8EFFF798038103D269B633813FC60C").as_bytes(), Encoding::Json).unwrap();
    let ids: Vec<_> = rows(&upper.spans)
        .map(|row| (row.text("trace_id").unwrap().to_owned(), row.text("span_id").unwrap().to_owned()))
        .collect();
    assert_eq!(ids, vec![("5b8efff798038103d269b633813fc60c".to_owned(), "eee19b7ec3c1b174".to_owned()); 2]);
    let base64 = try_decode(body("W47/95gDgQPSabYzgT/GDA==").as_bytes(), Encoding::Json).unwrap();
    assert_eq!((base64.received, base64.rejected, base64.spans.num_rows()), (2, 1, 1));
    assert_eq!(base64.message.unwrap(), "1 span rejected: trace id is not in hex (base64?)");
}

/// T25: one bad id costs one span; a span without a kind is stored; bodies of other signals are refused.
#[test]
fn t25_bad_ids_and_wrong_signals() {
    let spans = vec![
        Span { kind: 0, ..span(Vec::new()) },
        Span { trace_id: vec![1; 15], ..span(Vec::new()) },
        Span { span_id: vec![0; 8], ..span(Vec::new()) },
        Span { trace_id: Vec::new(), ..span(Vec::new()) },
    ];
    let decoded = decode(&request(spans, "s", ""));
    assert_eq!((decoded.received, decoded.rejected, decoded.spans.num_rows()), (4, 3, 1));
    let message = decoded.message.unwrap();
    assert!(message.contains("trace id of 15 bytes, not 16"), "{message}");
    assert!(message.contains("span id of zeros"), "{message}");

    let record = LogRecord {
        time_unix_nano: START,
        severity_number: 9,
        severity_text: "INFO".to_owned(),
        ..Default::default()
    };
    let scope_logs = vec![ScopeLogs { log_records: vec![record], ..Default::default() }];
    let logs =
        ExportLogsServiceRequest { resource_logs: vec![ResourceLogs { scope_logs, ..Default::default() }] };
    let refused = try_decode(&logs.encode_to_vec(), Encoding::Protobuf);
    assert!(matches!(refused, Err(DecodeError::Invalid(_))), "{refused:?}");
    let refused = try_decode(br#"{"resourceLogs":[]}"#, Encoding::Json);
    assert!(matches!(refused, Err(DecodeError::Invalid(_))), "{refused:?}");
}

/// T25 and N20: the captured bodies of other signals give no rows.
#[test]
fn other_signals_give_no_rows() {
    let Some(folder) = shared("data/otlp2parquet_testdata") else { return };
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let encoding = match path.extension().and_then(|extension| extension.to_str()) {
            Some("pb") => Encoding::Protobuf,
            Some("json") => Encoding::Json,
            _ => continue,
        };
        if name.starts_with("log") || name.starts_with("metrics") {
            match try_decode(&std::fs::read(&path).unwrap(), encoding) {
                Err(DecodeError::Invalid(_)) => {}
                Ok(decoded) => {
                    assert_eq!((decoded.spans.num_rows(), decoded.received), (0, decoded.rejected), "{name}")
                }
                Err(error) => assert!(name.is_empty(), "{name}: {error}"),
            }
        }
    }
}

/// T26: text that is not UTF-8 is stored with U+FFFD and marked, and its batch lives.
#[test]
fn t26_invalid_utf8_is_replaced() {
    let mut body = request(
        vec![span(vec![attribute("a.key", "fo##"), attribute("gen_ai.request.model", "fo##")])],
        "s",
        "",
    )
    .encode_to_vec();
    for at in 0..body.len() {
        if body[at..].starts_with(b"fo##") {
            body[at + 2..at + 4].copy_from_slice(b"\xff\xfe");
        }
    }
    let decoded = try_decode(&body, Encoding::Protobuf).unwrap();
    let row = Row { batch: decoded.spans, index: 0 };
    assert_eq!(row.attribute("a.key").unwrap(), "fo\u{fffd}\u{fffd}");
    assert_eq!(row.text("model"), Some("fo\u{fffd}\u{fffd}"));
    assert_eq!(row.quality(), ["utf8_replaced"]);
}

/// Counts of any type are the same count, and what is no count is null, not zero.
#[test]
fn odd_numbers() {
    let input = |row: Row| (row.int("input_tokens"), row.quality());
    let key = "gen_ai.usage.input_tokens";
    assert_eq!(input(row(vec![attribute(key, 42)])), (Some(42), vec![]));
    assert_eq!(input(row(vec![attribute(key, 42.0)])), (Some(42), vec![]));
    assert_eq!(input(row(vec![attribute(key, "42")])), (Some(42), vec![]));
    let bad = vec!["bad_number".to_owned()];
    assert_eq!(input(row(vec![attribute(key, f64::NAN)])), (None, bad.clone()));
    assert_eq!(input(row(vec![attribute(key, -1)])), (None, bad.clone()));
    assert_eq!(input(row(vec![attribute(key, i64::MAX)])), (None, bad.clone()));
    assert_eq!(input(row(vec![attribute(key, "many")])), (None, bad));
}

/// Long text is cut between characters; only a column's loss is marked, and dropped attributes are too.
#[test]
fn long_text_is_cut() {
    let long = "\u{e9}".repeat(600);
    let stored = row(vec![attribute("a.key", &*long)]);
    assert_eq!(stored.attribute("a.key").unwrap(), "\u{e9}".repeat(512));
    assert_eq!(stored.quality(), Vec::<String>::new());
    let stored = row(vec![attribute("gen_ai.request.model", &*format!("x{long}"))]);
    assert_eq!(stored.text("model").unwrap().len(), 1023);
    assert_eq!(stored.quality(), ["truncated"]);
    let stored = row_of(Span { dropped_attributes_count: 3, ..span(Vec::new()) }, "s", "");
    assert_eq!(stored.quality(), ["attributes_dropped"]);
}

/// A request of a few bytes a span with a huge resource doesn't fill memory with copies of it.
#[test]
fn repeated_resources_are_bounded() {
    let mut body = request((0..20_000).map(|_| span(Vec::new())).collect(), "s", "");
    let resource = body.resource_spans[0].resource.as_mut().unwrap();
    let value = "x".repeat(2000);
    resource.attributes.extend((0..1000).map(|index| attribute(&format!("key.{index}"), &*value)));
    let decoded = decode(&body);
    assert_eq!(decoded.spans.num_rows(), 20_000);
    assert!(decoded.spans.get_array_memory_size() < 400 << 20);
    assert!(rows(&decoded.spans).last().unwrap().quality().contains(&"attributes_dropped".to_owned()));
}

/// An empty request is no spans, in either encoding.
#[test]
fn empty_requests() {
    for (body, encoding) in [
        (&b""[..], Encoding::Protobuf),
        (b"{}", Encoding::Json),
        (br#"{"resourceSpans":[]}"#, Encoding::Json),
    ] {
        let decoded = try_decode(body, encoding).unwrap();
        assert_eq!((decoded.spans.num_rows(), decoded.received, decoded.message), (0, 0, None));
        assert_eq!(decoded.spans.schema(), schema("spans"));
    }
}

/// Bytes that end too soon are refused as a whole: nothing of them is stored.
#[test]
fn truncated_bodies_are_refused() {
    let body = request(vec![span(vec![attribute("a", "b")])], "s", "").encode_to_vec();
    for end in 1..body.len() {
        assert!(
            matches!(try_decode(&body[..end], Encoding::Protobuf), Err(DecodeError::Invalid(_))),
            "{end}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever bytes come, decoding ends in rows, rejected spans or an error, and counts every span once.
    #[test]
    fn any_bytes(body in proptest::collection::vec(any::<u8>(), 0..400), json: bool) {
        let encoding = if json { Encoding::Json } else { Encoding::Protobuf };
        if let Ok(decoded) = try_decode(&body, encoding) {
            let placed = decoded.spans.num_rows() + decoded.quarantined.num_rows();
            prop_assert_eq!(decoded.received, placed as u64 + decoded.rejected);
        }
    }

    /// A good body with bytes changed does no worse.
    #[test]
    fn damaged_bytes(changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..6)) {
        let attributes = vec![attribute("gen_ai.request.model", "gpt"), attribute("x", &["a", "b"][..]), attribute("n", 7)];
        let mut body = request(vec![span(attributes), span(Vec::new())], "scope", "1").encode_to_vec();
        for (at, byte) in changes {
            let at = at.index(body.len());
            body[at] = byte;
        }
        if let Ok(decoded) = try_decode(&body, Encoding::Protobuf) {
            let placed = decoded.spans.num_rows() + decoded.quarantined.num_rows();
            prop_assert_eq!(decoded.received, placed as u64 + decoded.rejected);
        }
    }
}
