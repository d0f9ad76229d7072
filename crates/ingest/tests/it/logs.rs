//! Logs: durable as traces are, by every way in, and counted by what they tell of.

use std::fs;

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::logs::v1::logs_service_client::LogsServiceClient;
use opentelemetry_proto::tonic::common::v1::AnyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use plimsoll_ingest::file::{FileInput, FileOptions, FileReport, ingest_file};
use plimsoll_ingest::{Counts, Ingest};
use prost::Message;

use crate::support::{Answer, Place, START, attribute, body, integers, send, strings};

const PROTOBUF: (&str, &str) = ("Content-Type", "application/x-protobuf");
const JSON: (&str, &str) = ("Content-Type", "application/json");

fn record(event: &str, input: i64) -> LogRecord {
    LogRecord {
        time_unix_nano: START,
        body: Some(AnyValue { value: Some(Value::StringValue(format!("claude_code.{event}"))) }),
        attributes: vec![
            attribute("prompt.id", Value::StringValue("p-1".to_owned())),
            attribute("input_tokens", Value::IntValue(input)),
            attribute("output_tokens", Value::IntValue(1)),
            attribute("cache_read_tokens", Value::IntValue(0)),
            attribute("cache_creation_tokens", Value::IntValue(0)),
        ],
        ..LogRecord::default()
    }
}

/// A prompt, and calls with these inputs.
pub(crate) fn request(inputs: &[i64]) -> ExportLogsServiceRequest {
    let calls = inputs.iter().map(|input| record("api_request", *input));
    let log_records = std::iter::once(record("user_prompt", 0)).chain(calls).collect();
    let scope_logs = vec![ScopeLogs { log_records, ..ScopeLogs::default() }];
    ExportLogsServiceRequest { resource_logs: vec![ResourceLogs { scope_logs, ..ResourceLogs::default() }] }
}

async fn post(ingest: &Ingest, kind: (&str, &str), body: Vec<u8>) -> Answer {
    send(ingest.http_addr().unwrap(), "POST", "/v1/logs", &[kind], body).await
}

async fn inputs(place: &Place) -> Vec<i64> {
    let mut inputs = integers(&place.rows("spans").await, "input_tokens");
    inputs.sort_unstable();
    inputs
}

fn told(counts: Counts) -> (u64, u64, u64) {
    (counts.log_calls, counts.log_passed_over, counts.log_rejected)
}

/// Protobuf, JSON and gRPC all lead to rows; what tells of no call is counted, said and not rejected;
/// nothing is a success, and what is no logs request is refused for good.
#[tokio::test(flavor = "multi_thread")]
async fn logs_by_every_way_in() {
    let place = Place::new().await;
    let ingest = place.start().await;
    let answer = post(&ingest, PROTOBUF, request(&[10, 11]).encode_to_vec()).await;
    assert_eq!(answer.status, 200);
    let json = serde_json::to_vec(&request(&[12])).unwrap();
    let answer = post(&ingest, JSON, json).await;
    assert_eq!((answer.status, &answer.json()["partialSuccess"]["rejectedLogRecords"]), (200, &"0".into()));
    let message = "1 log record tells of no model or tool call and is not stored";
    assert_eq!(answer.json()["partialSuccess"]["errorMessage"], message);
    let endpoint = format!("http://{}", ingest.grpc_addr().unwrap());
    let mut client = LogsServiceClient::connect(endpoint).await.unwrap();
    let partial = client.export(request(&[13])).await.unwrap().into_inner().partial_success.unwrap();
    assert_eq!((partial.rejected_log_records, partial.error_message.as_str()), (0, message));
    assert_eq!(post(&ingest, PROTOBUF, Vec::new()).await.body, b"");
    for (kind, body) in [(PROTOBUF, body(&["a span"])), (PROTOBUF, b"\xff".to_vec()), (JSON, b"{".to_vec())] {
        assert_eq!(post(&ingest, kind, body).await.status, 400);
    }
    ingest.flush().await.unwrap();
    assert_eq!(inputs(&place).await, [10, 11, 12, 13]);
    assert!(strings(&place.rows("spans").await, "signal").iter().all(|signal| signal == "log"));
    let counts = ingest.counts();
    assert_eq!(told(counts), (4, 3, 0));
    assert_eq!((counts.received, counts.stored, counts.rejected, counts.in_flight), (4, 4, 0, 0));
    assert_eq!((counts.accepted_requests, counts.invalid_requests), (4, 3));
}

/// A crash after the acknowledgement: logs and traces come back from one journal, each as what it was.
#[tokio::test(flavor = "multi_thread")]
async fn a_crash_loses_no_log() {
    let place = Place::new().await;
    let ingest = place.start().await;
    assert_eq!(crate::support::post(&ingest, body(&["before"])).await.status, 200);
    assert_eq!(post(&ingest, PROTOBUF, request(&[10]).encode_to_vec()).await.status, 200);
    assert_eq!(post(&ingest, JSON, serde_json::to_vec(&request(&[11])).unwrap()).await.status, 200);
    assert_eq!(post(&ingest, PROTOBUF, request(&[]).encode_to_vec()).await.status, 200);
    assert_eq!(crate::support::post(&ingest, body(&["after"])).await.status, 200);
    drop(ingest);
    let ingest = place.start().await;
    ingest.flush().await.unwrap();
    assert_eq!(inputs(&place).await, [10, 11, 1000, 1000]);
    let counts = ingest.counts();
    assert_eq!((counts.received, counts.stored, counts.in_flight, counts.damaged), (4, 4, 0, 0));
}

async fn ingest(place: &Place, name: &str, content: Vec<u8>) -> FileReport {
    let path = place.directory.path().join(name);
    fs::write(&path, content).unwrap();
    ingest_file(&FileInput::Path(path), &FileOptions::default(), &place.lake, &place.decoder, |_| {})
        .await
        .unwrap()
}

/// Files: a body in protobuf or JSON, the collector's lines of logs and traces together; what tells of
/// no call is told, and a second ingest adds nothing.
#[tokio::test(flavor = "multi_thread")]
async fn files_of_logs() {
    let place = Place::new().await;
    let report = ingest(&place, "logs.pb", request(&[10, 11]).encode_to_vec()).await;
    assert_eq!((report.spans, report.passed_over, report.rejected, report.lines_bad), (2, 1, 0, 0));
    let document = serde_json::to_string_pretty(&request(&[12])).unwrap();
    let report = ingest(&place, "logs.json", document.into_bytes()).await;
    assert_eq!((report.spans, report.passed_over), (1, 1));

    let mut named = request(&[13]);
    let records = &mut named.resource_logs[0].scope_logs[0].log_records;
    records[0].attributes.push(attribute("note", Value::StringValue("resourceSpans".to_owned())));
    let line = serde_json::to_string(&named).unwrap();
    let traces =
        serde_json::to_string(&crate::support::request(vec![crate::support::span("a span")])).unwrap();
    let metrics = "{\"resourceMetrics\":[]}";
    let lines = format!("{line}\n{traces}\n{metrics}\n").into_bytes();
    let report = ingest(&place, "collector.jsonl", lines.clone()).await;
    assert_eq!((report.spans, report.passed_over, report.lines_bad), (2, 1, 1));
    assert!(ingest(&place, "again.jsonl", lines).await.already_ingested);
    assert_eq!(inputs(&place).await, [10, 11, 12, 13, 1000]);
}
