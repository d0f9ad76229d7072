"""Telemetry made by hand: spans as OTLP protobuf messages, and a plain HTTP client to post them with."""

import http.client
import itertools

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status

PROTOBUF = "application/x-protobuf"
JSON = "application/json"
SECOND = 1_000_000_000
# 3 November 2026, 15:00 UTC: a Tuesday in business hours.
NOON = 1_793_718_000 * SECOND

_ids = itertools.count(1)


def fresh_trace_id():
    """A trace id that no other span of this process has."""
    return next(_ids).to_bytes(16, "big")


def fresh_span_id():
    """A span id that no other span of this process has."""
    return next(_ids).to_bytes(8, "big")


def value(of):
    """An attribute's value, by its Python type."""
    if isinstance(of, bool):
        return AnyValue(bool_value=of)
    if isinstance(of, int):
        return AnyValue(int_value=of)
    if isinstance(of, float):
        return AnyValue(double_value=of)
    return AnyValue(string_value=of)


def attributes(of):
    """Attributes from a dict."""
    return [KeyValue(key=key, value=value(each)) for key, each in of.items()]


def span(name, trace_id=None, parent=b"", start=NOON, seconds=1.0, error=False, **of):
    """One span; attributes as keywords, with `__` for a dot."""
    return Span(
        trace_id=trace_id or fresh_trace_id(),
        span_id=fresh_span_id(),
        parent_span_id=parent,
        name=name,
        kind=Span.SPAN_KIND_INTERNAL,
        start_time_unix_nano=start,
        end_time_unix_nano=start + int(seconds * SECOND),
        status=Status(code=Status.STATUS_CODE_ERROR if error else Status.STATUS_CODE_UNSET),
        attributes=attributes({key.replace("__", "."): each for key, each in of.items()}),
    )


def agent(workflow, **options):
    """The root of a run."""
    return span(
        f"invoke_agent {workflow}", gen_ai__operation__name="invoke_agent", plimsoll__workflow=workflow, **options
    )


def chat(root, input_tokens, output_tokens, model="claude-sonnet-4-5", provider="anthropic", **options):
    """A model call of a run."""
    return span(
        f"chat {model}",
        trace_id=root.trace_id,
        parent=root.span_id,
        gen_ai__operation__name="chat",
        gen_ai__provider__name=provider,
        gen_ai__request__model=model,
        gen_ai__usage__input_tokens=input_tokens,
        gen_ai__usage__output_tokens=output_tokens,
        **options,
    )


def request(spans, service="suite"):
    """An export request of one resource and one scope."""
    return ExportTraceServiceRequest(
        resource_spans=[
            ResourceSpans(
                resource=Resource(attributes=attributes({"service.name": service})),
                scope_spans=[ScopeSpans(scope=InstrumentationScope(name="suite"), spans=spans)],
            )
        ]
    )


class Answer:
    """What a server answered."""

    def __init__(self, response):
        self.status = response.status
        self.headers = {name.lower(): text for name, text in response.getheaders()}
        self.body = response.read()

    @property
    def text(self):
        """The body as text."""
        return self.body.decode(errors="replace")

    def partial(self):
        """The `partial_success` of a protobuf answer."""
        return ExportTraceServiceResponse.FromString(self.body).partial_success


def send(server, body, content_type=PROTOBUF, path="/v1/traces", method="POST", coding=None, timeout=60):
    """Posts one body on a connection of its own."""
    host, port = server.http.split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=timeout)
    headers = {}
    if content_type:
        headers["Content-Type"] = content_type
    if coding:
        headers["Content-Encoding"] = coding
    try:
        connection.request(method, path, body=body, headers=headers)
        return Answer(connection.getresponse())
    finally:
        connection.close()


def post(server, spans, **options):
    """Posts spans as protobuf; they must be taken whole."""
    answer = send(server, request(spans, **options).SerializeToString())
    assert answer.status == 200 and not answer.body, (answer.status, answer.text)
