"""OTLP/HTTP and OTLP/gRPC by their specification, seen from outside."""

import gzip
import json

import grpc
import pytest
import zstandard
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import TraceServiceStub

from support.spans import JSON, PROTOBUF, agent, chat, fresh_span_id, fresh_trace_id, request, send, span


@pytest.fixture(scope="module")
def server(binary, tmp_path_factory):
    """One server for all: no test here may take another down."""
    from support.command import Plimsoll

    with Plimsoll(binary, tmp_path_factory.mktemp("http")).serve() as server:
        yield server


def body():
    """A request of one run."""
    root = agent("http")
    return request([root, chat(root, 100, 10)]).SerializeToString()


def json_body(**of):
    """The same as JSON, with what a test wants to be different."""
    one = {
        "traceId": fresh_trace_id().hex(),
        "spanId": fresh_span_id().hex(),
        "name": "json",
        "startTimeUnixNano": "1793718000000000000",
        "endTimeUnixNano": "1793718001000000000",
    }
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [one | of]}]}]}).encode()


CODINGS = {
    "plain": (None, bytes),
    "identity": ("identity", bytes),
    "gzip": ("gzip", gzip.compress),
    "gzip of two members": (
        "gzip",
        lambda whole: gzip.compress(whole[: len(whole) // 2]) + gzip.compress(whole[len(whole) // 2 :]),
    ),
    "zstd": ("zstd", lambda whole: zstandard.compress(whole)),
}


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("content_type", [PROTOBUF, JSON, f"{JSON}; charset=utf-8", f"{PROTOBUF};v=1"])
def test_success_is_answered_in_kind(server, content_type, coding):
    """Protects exporters of every encoding and compression: 200, in the request's type, nothing to say."""
    is_json = content_type.startswith(JSON)
    name, encode = CODINGS[coding]
    answer = send(server, encode(json_body() if is_json else body()), content_type, coding=name)
    assert answer.status == 200, answer.text
    assert answer.headers["content-type"] == (JSON if is_json else PROTOBUF)
    assert answer.body == (b"{}" if is_json else b"")


@pytest.mark.parametrize("content_type, empty", [(PROTOBUF, b""), (JSON, b"{}"), (JSON, b'{"resourceSpans":[]}')])
def test_an_empty_request_is_a_success(server, content_type, empty):
    """Protects exporters that send nothing: the specification calls that a success."""
    assert send(server, empty, content_type).status == 200


@pytest.mark.parametrize(
    "method, path, content_type, coding, status, hint",
    [
        ("POST", "/", PROTOBUF, None, 404, "/v1/traces"),
        ("POST", "/v1/traces/v1/traces", PROTOBUF, None, 404, "doubled"),
        ("GET", "/v1/traces", None, None, 405, "POST"),
        ("PUT", "/v1/traces", PROTOBUF, None, 405, "POST"),
        ("POST", "/v1/traces", "text/plain", None, 415, "application/json"),
        ("POST", "/v1/traces", None, None, 415, "application/x-protobuf"),
        ("POST", "/v1/traces", PROTOBUF, "br", 415, "zstd"),
    ],
)
def test_wrong_requests_are_told_what_is_right(server, method, path, content_type, coding, status, hint):
    """Protects people who set the wrong endpoint: a status, and in plain text what to set."""
    answer = send(server, b"", content_type, path, method, coding)
    assert answer.status == status, answer.text
    assert answer.headers["content-type"].startswith("text/plain")
    assert hint in answer.text
    if status == 405:
        assert answer.headers["allow"] == "POST"


@pytest.mark.parametrize(
    "content_type, bad",
    [(PROTOBUF, body()[:-3]), (PROTOBUF, b"\xff\xff\xff\xff"), (JSON, b'{"resourceSpans": ['), (JSON, b"[1]")],
)
def test_undecodable_is_refused_for_good(server, content_type, bad):
    """Protects senders from retrying for ever: 400 with a `google.rpc.Status` in the request's type."""
    answer = send(server, bad, content_type)
    assert answer.status == 400
    assert "retry-after" not in answer.headers
    assert answer.headers["content-type"] == content_type
    if content_type == JSON:
        status = json.loads(answer.body)
        assert status["code"] == 3 and status["message"]
    else:
        # google.rpc.Status: field 1 is the code, a varint; 3 is INVALID_ARGUMENT.
        assert answer.body[:2] == b"\x08\x03" and len(answer.body) > 4


def test_part_of_a_request(server):
    """Protects the good spans of a request that has a bad one: stored, and the others are counted."""
    short = span("short id")
    short.trace_id = b"fifteen bytes.."
    answer = send(server, request([span("good"), short]).SerializeToString())
    assert answer.status == 200
    assert answer.partial().rejected_spans == 1 and answer.partial().error_message

    base64 = send(server, json_body(traceId="W47/95gDgQPSabYzgT/GDA=="), JSON)
    assert base64.status == 200
    partial = json.loads(base64.body)["partialSuccess"]
    assert int(partial["rejectedSpans"]) == 1 and partial["errorMessage"]
    assert send(server, json_body(traceId=fresh_trace_id().hex().upper()), JSON).body == b"{}"


def test_other_signals_are_answered_with_success(server):
    """Protects SDKs that also export logs and metrics: no failure, no retry, and told what is not stored."""
    logs = {"resourceLogs": [{"scopeLogs": [{"logRecords": [{"body": {"stringValue": "x"}}]}]}]}
    answer = send(server, json.dumps(logs).encode(), JSON, "/v1/logs")
    assert answer.status == 200
    partial = json.loads(answer.body)["partialSuccess"]
    assert int(partial["rejectedLogRecords"]) == 0 and "1 log record" in partial["errorMessage"]
    gauge = {"name": "m", "gauge": {"dataPoints": [{"asInt": "1"}]}}
    metrics = {"resourceMetrics": [{"scopeMetrics": [{"metrics": [gauge]}]}]}
    answer = send(server, json.dumps(metrics).encode(), JSON, "/v1/metrics")
    assert answer.status == 200
    partial = json.loads(answer.body)["partialSuccess"]
    assert int(partial["rejectedDataPoints"]) == 1 and partial["errorMessage"]


def test_grpc_answers(server):
    """Protects OTLP/gRPC: a batch over gRPC's usual 4 MiB, a partial success, bad bytes."""
    large = request([span("x" * 1000, note="y" * 4000) for _ in range(1200)])
    assert large.ByteSize() > 5 << 20
    with grpc.insecure_channel(server.grpc) as channel:
        export = TraceServiceStub(channel).Export
        for compression in (grpc.Compression.NoCompression, grpc.Compression.Gzip):
            answer = export(request([span("grpc")]), compression=compression, timeout=30)
            assert not answer.HasField("partial_success")
        assert not export(large, timeout=60).HasField("partial_success")
        bad = span("bad")
        bad.span_id = b"short"
        assert export(request([span("good"), bad]), timeout=30).partial_success.rejected_spans == 1
        raw = channel.unary_unary("/opentelemetry.proto.collector.trace.v1.TraceService/Export")
        with pytest.raises(grpc.RpcError) as refused:
            raw(b"\xff\xff\xff\xff", timeout=30)
        assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT


def test_web_port(server):
    """Protects what orchestrators and Prometheus ask for."""
    assert server.get("/healthz")[0] == 200
    assert server.get("/readyz")[0] == 200
    assert server.get("/nothing")[0] == 404
    status, text = server.get("/metrics")
    assert status == 200 and "# TYPE plimsoll_ingest_spans" in text
