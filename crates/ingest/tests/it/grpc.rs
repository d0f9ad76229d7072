//! OTLP/gRPC, driven by the client that the conventions' own crate generates.

use std::time::Duration;

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::logs::v1::logs_service_client::LogsServiceClient;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_client::TraceServiceClient;
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use plimsoll_ingest::Ingest;
use tonic::Code;
use tonic::codec::CompressionEncoding;
use tonic::transport::{Channel, Endpoint};
use tonic_types::StatusExt;

use crate::support::{Place, nameless, request, send, span};

async fn channel(ingest: &Ingest) -> Channel {
    let uri = format!("http://{}", ingest.grpc_addr().unwrap());
    Endpoint::from_shared(uri).unwrap().connect().await.unwrap()
}

/// The client takes messages as large as it is asked to.
fn client(channel: Channel) -> TraceServiceClient<Channel> {
    TraceServiceClient::new(channel).max_encoding_message_size(usize::MAX)
}

/// Whole, gzip and Zstandard: stored, and an empty answer. Five mebibytes pass, though gRPC's own
/// default would stop them at four.
#[tokio::test(flavor = "multi_thread")]
async fn every_compression_is_taken() {
    let place = Place::new().await;
    let ingest = place.start().await;
    let channel = channel(&ingest).await;
    let plain = client(channel.clone()).export(request(vec![span("plain")])).await.unwrap();
    assert_eq!(plain.into_inner().partial_success, None);
    for (name, compression) in [("gzip", CompressionEncoding::Gzip), ("zstd", CompressionEncoding::Zstd)] {
        let mut client = client(channel.clone()).send_compressed(compression);
        let answer = client.export(request(vec![span(name)])).await.unwrap();
        assert_eq!(answer.into_inner().partial_success, None);
    }
    client(channel.clone()).export(request(Vec::new())).await.unwrap();
    let many = (0..5200).map(|n| span(&format!("{n}{}", "z".repeat(1000)))).collect();
    client(channel).export(request(many)).await.unwrap();
    ingest.flush().await.unwrap();
    let names = place.names().await;
    assert_eq!(names.len(), 5203);
    assert_eq!((names["plain"], names["gzip"], names["zstd"]), (1, 1, 1));
}

/// Refusals carry the codes that tell an exporter whether to try again, and `RetryInfo` only if so.
#[tokio::test(flavor = "multi_thread")]
async fn statuses_tell_whether_to_retry() {
    let place = Place::new().await;
    let mut config = place.config();
    config.limits.max_message_bytes = 10_000;
    config.limits.backlog_bytes = 1;
    let ingest = place.start_with(config).await;
    let mut client = client(channel(&ingest).await);

    let large = client.export(request(vec![span(&"x".repeat(20_000))])).await.unwrap_err();
    assert_eq!(large.code(), Code::ResourceExhausted);
    assert!(large.get_details_retry_info().is_none());

    let partial = client
        .export(request(vec![span("good"), nameless("bad")]))
        .await
        .unwrap()
        .into_inner()
        .partial_success
        .unwrap();
    assert_eq!(partial.rejected_spans, 1);

    let busy = client.export(request(vec![span("later")])).await.unwrap_err();
    assert_eq!(busy.code(), Code::Unavailable);
    assert_eq!(busy.get_details_retry_info().unwrap().retry_delay, Some(Duration::from_secs(5)));
}

/// Frames and messages that cannot be read are the sender's fault, never a fault of the server's.
#[tokio::test(flavor = "multi_thread")]
async fn broken_messages_are_invalid_arguments() {
    let place = Place::new().await;
    let ingest = place.start().await;
    let path = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
    let frame = |compressed: u8, announced: u8, message: &[u8]| {
        [&[compressed, 0, 0, 0, announced][..], message].concat()
    };
    let cases: [(Vec<u8>, &str, &str); 6] = [
        (frame(0, 4, b"\xff\xff\xff\xff"), "identity", "3"),
        (frame(0, 9, b"cut"), "identity", "3"),
        (frame(1, 7, b"no gzip"), "gzip", "3"),
        (vec![0, 0], "identity", "3"),
        (frame(1, 1, b"x"), "snappy", "12"),
        (frame(0, 0, b""), "identity", ""),
    ];
    for (body, encoding, status) in cases {
        let headers = [("Content-Type", "application/grpc"), ("grpc-encoding", encoding)];
        let answer = send(ingest.grpc_addr().unwrap(), "POST", path, &headers, body).await;
        assert_eq!((answer.status, answer.header("grpc-status")), (200, status));
    }
}

/// Logs that tell of no call succeed with nothing rejected, and metrics with everything; other methods are
/// not there; health follows readiness; and who speaks HTTP to this port is told so.
#[tokio::test(flavor = "multi_thread")]
async fn the_other_services_answer() {
    let place = Place::new().await;
    let ingest = place.start().await;
    let record = ScopeLogs { log_records: vec![LogRecord::default(); 3], ..ScopeLogs::default() };
    let logs = ExportLogsServiceRequest {
        resource_logs: vec![ResourceLogs { scope_logs: vec![record], ..ResourceLogs::default() }],
    };
    let answer = LogsServiceClient::new(channel(&ingest).await).export(logs).await.unwrap();
    let partial = answer.into_inner().partial_success.unwrap();
    assert_eq!(partial.rejected_log_records, 0);
    assert_eq!(partial.error_message, "3 log records tell of no model or tool call and are not stored");

    let address = ingest.grpc_addr().unwrap();
    let grpc = [("Content-Type", "application/grpc")];
    let health = send(address, "POST", "/grpc.health.v1.Health/Check", &grpc, vec![0; 5]).await;
    assert!(health.body.windows(7).any(|window| window == [0, 0, 0, 0, 2, 0x08, 1]), "{health:?}");
    let unknown = send(address, "POST", "/other.Service/Method", &grpc, vec![0; 5]).await;
    assert_eq!(unknown.header("grpc-status"), "12");
    let http =
        send(address, "POST", "/v1/traces", &[("Content-Type", "application/x-protobuf")], Vec::new()).await;
    assert_eq!(http.status, 415);
    assert!(http.text().contains("gRPC"));
}
