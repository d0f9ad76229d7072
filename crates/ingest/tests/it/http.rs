//! OTLP/HTTP by its specification: every answer a client may build on.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::metrics_service_client::MetricsServiceClient;
use opentelemetry_proto::tonic::collector::metrics::v1::{
    ExportMetricsServiceRequest, ExportMetricsServiceResponse,
};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use prost::Message;
use serde_json::json;

use crate::support::{Place, body, nameless, post, request, send, span, strings, timeless};

const PROTOBUF: (&str, &str) = ("Content-Type", "application/x-protobuf");
type Headers = &'static [(&'static str, &'static str)];

const JSON: (&str, &str) = ("Content-Type", "application/json");

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn json_body(trace_id: &str) -> Vec<u8> {
    let span = json!({ "traceId": trace_id, "spanId": "00f067aa0ba902b7", "name": "json",
        "startTimeUnixNano": "1700000000000000000", "endTimeUnixNano": "1700000001000000000" });
    json!({ "resourceSpans": [{ "scopeSpans": [{ "spans": [span] }] }] }).to_string().into_bytes()
}

/// What is taken is answered with 200, in the request's type, with nothing in the message.
#[tokio::test(flavor = "multi_thread")]
async fn every_encoding_and_coding_is_taken() {
    let place = Place::new().await;
    let ingest = place.start().await;
    let address = ingest.http_addr().unwrap();
    let whole = body(&["a message that is cut in two"]);
    let cut = whole.len() / 2;
    let members = [gzip(&whole[..cut]), gzip(&whole[cut..])].concat();
    let cases: [(&str, &str, &str, Vec<u8>); 8] = [
        ("plain", "application/x-protobuf", "identity", body(&["plain"])),
        ("parameters", "Application/X-Protobuf; charset=utf-8", "", body(&["parameters"])),
        ("gzip", "application/x-protobuf", "gzip", gzip(&body(&["gzip"]))),
        ("members", "application/x-protobuf", "gzip", members),
        ("zstd", "application/x-protobuf", "zstd", zstd::encode_all(&body(&["zstd"])[..], 1).unwrap()),
        ("json", "application/json; charset=utf-8", "", json_body("5b8efff798038103d269b633813fc60c")),
        ("capitals", "application/json", "GZIP", gzip(&json_body("5B8EFFF798038103D269B633813FC60C"))),
        ("empty", "application/x-protobuf", "", Vec::new()),
    ];
    for (name, content_type, coding, bytes) in cases {
        let answer = send(
            address,
            "POST",
            "/v1/traces",
            &[("Content-Type", content_type), ("Content-Encoding", coding)],
            bytes,
        )
        .await;
        assert_eq!(answer.status, 200, "{name}: {}", answer.text());
        let json = content_type.contains("json");
        assert_eq!(
            answer.header("content-type"),
            if json { "application/json" } else { "application/x-protobuf" }
        );
        assert_eq!(answer.body, if json { b"{}".to_vec() } else { Vec::new() }, "{name}");
    }
    let answer = send(address, "POST", "/v1/traces", &[JSON], b"{}".to_vec()).await;
    assert_eq!((answer.status, answer.text().as_str()), (200, "{}"));
    ingest.flush().await.unwrap();
    let names = place.names().await;
    let expected = [
        ("a message that is cut in two", 1),
        ("gzip", 1),
        ("json", 2),
        ("parameters", 1),
        ("plain", 1),
        ("zstd", 1),
    ];
    assert_eq!(names.into_iter().collect::<Vec<_>>(), expected.map(|(name, n)| (name.to_owned(), n)));
    let counts = ingest.counts();
    assert_eq!((counts.received, counts.stored, counts.in_flight, counts.accepted_requests), (7, 7, 0, 9));
}

/// A bad span costs itself: the rest is stored, and the answer says how many were not and why.
#[tokio::test(flavor = "multi_thread")]
async fn bad_spans_are_answered_with_a_partial_success() {
    let place = Place::new().await;
    let ingest = place.start().await;
    let mixed = request(vec![span("good"), nameless("bad"), timeless("odd")]).encode_to_vec();
    let answer = post(&ingest, mixed).await;
    assert_eq!(answer.status, 200);
    let response = ExportTraceServiceResponse::decode(answer.body.as_slice()).unwrap();
    let partial = response.partial_success.unwrap();
    assert_eq!(partial.rejected_spans, 1);
    assert!(!partial.error_message.is_empty());

    let address = ingest.http_addr().unwrap();
    let base64 = send(address, "POST", "/v1/traces", &[JSON], json_body("W47/95gDgQPSabYzgT/GDA==")).await;
    assert_eq!(base64.status, 200);
    assert_eq!(base64.json()["partialSuccess"]["rejectedSpans"], "1");
    assert_ne!(base64.json()["partialSuccess"]["errorMessage"], "");

    ingest.flush().await.unwrap();
    assert_eq!(place.names().await.into_keys().collect::<Vec<_>>(), ["good"]);
    assert_eq!(strings(&place.rows("quarantine").await, "reason"), ["time_out_of_range"]);
    let counts = ingest.counts();
    assert_eq!(
        (counts.received, counts.stored, counts.quarantined, counts.rejected, counts.in_flight),
        (4, 1, 1, 2, 0)
    );
}

/// What is undecodable is refused for good, with a status in the request's type, and costs nobody else.
#[tokio::test(flavor = "multi_thread")]
async fn undecodable_bodies_are_bad_requests() {
    let place = Place::new().await;
    let ingest = place.start().await;
    let address = ingest.http_addr().unwrap();
    let mut truncated = body(&["cut"]);
    truncated.truncate(truncated.len() - 3);
    let cases: [(Headers, Vec<u8>); 5] = [
        (&[PROTOBUF], truncated),
        (&[PROTOBUF], b"\xff\xff\xff\xff".to_vec()),
        (&[PROTOBUF, ("Content-Encoding", "gzip")], b"no gzip".to_vec()),
        (&[JSON], b"{\"resourceSpans\": [".to_vec()),
        (&[JSON], b"[1, 2]".to_vec()),
    ];
    for (headers, bytes) in cases {
        let answer = send(address, "POST", "/v1/traces", headers, bytes).await;
        assert_eq!(answer.status, 400);
        assert_eq!(answer.header("retry-after"), "");
        assert_eq!(answer.header("content-type"), headers[0].1);
        if headers[0] == JSON {
            assert_eq!(answer.json()["code"], 3);
        } else {
            let status = tonic_types::Status::decode(answer.body.as_slice()).unwrap();
            assert_eq!((status.code, status.message.is_empty()), (3, false));
        }
    }
    assert_eq!(post(&ingest, body(&["next"])).await.status, 200);
    assert_eq!(ingest.counts().invalid_requests, 5);
}

/// Wrong paths, methods and types are told in plain text what would be right.
#[tokio::test(flavor = "multi_thread")]
async fn wrong_requests_are_told_what_is_right() {
    let place = Place::new().await;
    let ingest = place.start().await;
    let address = ingest.http_addr().unwrap();
    let cases: [(&str, &str, Headers, u16, &str); 8] = [
        ("POST", "/", &[PROTOBUF], 404, "/v1/traces"),
        ("POST", "/v1/traces/v1/traces", &[PROTOBUF], 404, "doubled"),
        ("GET", "/nothing", &[], 404, "/v1/traces"),
        ("GET", "/v1/traces", &[], 405, "POST"),
        ("PUT", "/v1/logs", &[JSON], 405, "POST"),
        ("POST", "/v1/traces", &[("Content-Type", "text/csv")], 415, "application/json"),
        ("POST", "/v1/traces", &[], 415, "application/x-protobuf"),
        ("POST", "/v1/traces", &[PROTOBUF, ("Content-Encoding", "br")], 415, "zstd"),
    ];
    for (method, path, headers, status, hint) in cases {
        let answer = send(address, method, path, headers, Vec::new()).await;
        assert_eq!(answer.status, status, "{method} {path}");
        assert_eq!(answer.header("content-type"), "text/plain; charset=utf-8");
        assert!(answer.text().contains(hint), "{}", answer.text());
    }
    let answer = send(address, "GET", "/v1/traces", &[], Vec::new()).await;
    assert_eq!(answer.header("allow"), "POST");
}

/// Metrics are answered so that exporters neither fail nor try again, and are told why.
#[tokio::test(flavor = "multi_thread")]
async fn metrics_are_turned_away_with_success() {
    let place = Place::new().await;
    let ingest = place.start().await;
    let address = ingest.http_addr().unwrap();
    let metrics = json!({ "resourceMetrics": [{ "scopeMetrics": [{ "metrics": [
        { "name": "m", "gauge": { "dataPoints": [{ "asInt": "1" }, { "asInt": "2" }, { "asInt": "3" }] } }] }] }] });
    let answer = send(address, "POST", "/v1/metrics", &[JSON], metrics.to_string().into_bytes()).await;
    assert_eq!(answer.json()["partialSuccess"]["rejectedDataPoints"], "3");
    let answer = send(address, "POST", "/v1/metrics", &[PROTOBUF], b"\xff".to_vec()).await;
    assert_eq!(answer.status, 400);
    let metrics: ExportMetricsServiceRequest = serde_json::from_value(metrics).unwrap();
    let answer = send(address, "POST", "/v1/metrics", &[PROTOBUF], metrics.encode_to_vec()).await;
    let partial = ExportMetricsServiceResponse::decode(answer.body.as_slice()).unwrap().partial_success;
    assert!(partial.is_some_and(|partial| partial.rejected_data_points == 3
        && partial.error_message.contains("metrics are not stored here")));
    let mut client =
        MetricsServiceClient::connect(format!("http://{}", ingest.grpc_addr().unwrap())).await.unwrap();
    let partial = client.export(metrics).await.unwrap().into_inner().partial_success;
    assert!(
        partial.is_some_and(|partial| partial.rejected_data_points == 3 && !partial.error_message.is_empty())
    );
    assert_eq!((ingest.counts().other_signals, ingest.counts().received), (9, 0));
}

/// Logs on the path of traces look like spans without ids: none is stored, and the sender is told.
#[tokio::test(flavor = "multi_thread")]
async fn logs_on_the_path_of_traces_are_not_stored() {
    let place = Place::new().await;
    let ingest = place.start().await;
    let scope_logs = vec![ScopeLogs { log_records: vec![LogRecord::default(); 2], ..ScopeLogs::default() }];
    let resource_logs = vec![ResourceLogs { scope_logs, ..ResourceLogs::default() }];
    let answer = post(&ingest, ExportLogsServiceRequest { resource_logs }.encode_to_vec()).await;
    let rejected = ExportTraceServiceResponse::decode(answer.body.as_slice())
        .map_or(0, |response| response.partial_success.map_or(0, |partial| partial.rejected_spans));
    assert!(answer.status == 400 || rejected == 2, "{answer:?}");
    ingest.flush().await.unwrap();
    assert_eq!((ingest.counts().stored, ingest.counts().in_flight), (0, 0));
}

/// The size limit holds before decompression, after it, and for what a header announces; it is a
/// refusal for good.
#[tokio::test(flavor = "multi_thread")]
async fn the_size_limit_holds_after_decompression() {
    let place = Place::new().await;
    let mut config = place.config();
    config.limits.max_message_bytes = 10_000;
    let ingest = place.start_with(config).await;
    let address = ingest.http_addr().unwrap();
    let long = "x".repeat(20_000);
    let large = body(&[long.as_str()]);
    let cases: [(Headers, Vec<u8>); 3] = [
        (&[PROTOBUF], large.clone()),
        (&[PROTOBUF, ("Content-Encoding", "gzip")], gzip(&large)),
        (&[PROTOBUF, ("Content-Encoding", "zstd")], zstd::encode_all(&large[..], 1).unwrap()),
    ];
    for (headers, bytes) in cases {
        let answer = send(address, "POST", "/v1/traces", headers, bytes).await;
        assert_eq!((answer.status, answer.header("retry-after")), (413, ""));
    }
    assert_eq!(post(&ingest, body(&["small"])).await.status, 200);
    assert_eq!(ingest.counts().too_large_requests, 3);
}

/// Ten gibibytes in ten mebibytes: refused, while the process grows by no more than the limit.
#[tokio::test(flavor = "multi_thread")]
async fn a_decompression_bomb_is_refused_in_bounded_memory() {
    let place = Place::new().await;
    let ingest = place.start().await;
    // A gzip member of one gibibyte of zeros, ten times.
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let zeros = vec![0; 1 << 20];
    for _ in 0..128 {
        encoder.write_all(&zeros).unwrap();
    }
    let bomb = encoder.finish().unwrap().repeat(80);
    let before = resident_bytes();
    let headers = [PROTOBUF, ("Content-Encoding", "gzip")];
    let answer = send(ingest.http_addr().unwrap(), "POST", "/v1/traces", &headers, bomb).await;
    assert_eq!(answer.status, 413);
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown < 300 << 20, "grew by {grown} bytes");
    assert_eq!(post(&ingest, body(&["after"])).await.status, 200);
}

/// Without room for more in flight the sender is asked to come again; with room it is taken.
#[tokio::test(flavor = "multi_thread")]
async fn pressure_is_answered_with_retry_after() {
    let place = Place::new().await;
    let mut config = place.config();
    config.limits.in_flight_bytes = 3000;
    config.limits.max_message_bytes = 1500;
    config.limits.backlog_bytes = 1;
    let ingest = place.start_with(config).await;
    let address = ingest.http_addr().unwrap();
    let padded = json!({ "pad": "y".repeat(500) }).to_string().into_bytes();
    // Two senders stop half-way and hold what they have sent, once it has arrived.
    let (held, answer) = loop {
        let held = [half_sent(address, 1400), half_sent(address, 1400)];
        tokio::time::sleep(Duration::from_millis(50)).await;
        let answer = send(address, "POST", "/v1/traces", &[JSON], padded.clone()).await;
        if answer.status != 200 {
            break (held, answer);
        }
    };
    assert_eq!((answer.status, answer.header("retry-after")), (429, "1"));
    drop(held);
    while send(address, "POST", "/v1/traces", &[JSON], padded.clone()).await.status == 429 {}
    // One request fills the backlog, which only a flush empties.
    assert_eq!(post(&ingest, body(&["first"])).await.status, 200);
    let answer = send(address, "POST", "/v1/traces", &[JSON], b"{}".to_vec()).await;
    assert_eq!((answer.status, answer.header("retry-after")), (503, "5"));
    assert_eq!(answer.json()["code"], 14);
    assert_eq!(answer.json()["details"][0]["retryDelay"], "5s");
    assert!(!ingest.ready());
    ingest.flush().await.unwrap();
    assert!(ingest.ready());
    assert_eq!(post(&ingest, body(&["second"])).await.status, 200);
}

/// A sender that stops in the middle is let go; its connection holds no memory for ever.
#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_does_not_arrive_is_given_up() {
    let place = Place::new().await;
    let mut config = place.config();
    config.limits.body_timeout = Duration::from_millis(100);
    let ingest = place.start_with(config).await;
    let mut stream = half_sent(ingest.http_addr().unwrap(), 100);
    let answer = tokio::task::spawn_blocking(move || {
        let mut answer = vec![0; 12];
        stream.read_exact(&mut answer).unwrap();
        answer
    });
    assert_eq!(answer.await.unwrap(), b"HTTP/1.1 503");
}

/// A request of which only so many bytes of 1500 have been sent.
fn half_sent(address: SocketAddr, bytes: usize) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    let head = "POST /v1/traces HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nContent-Length: 1500\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(&vec![b' '; bytes]).unwrap();
    stream
}

/// Resident memory of this process.
fn resident_bytes() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * rustix::param::page_size()
}
