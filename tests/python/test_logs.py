"""The logs of coding agents from a real OpenTelemetry SDK, over each exporter it has: runs to the token."""

import pytest
from opentelemetry._logs import LogRecord
from opentelemetry.exporter.otlp.json.http._log_exporter import OTLPLogExporter as JsonExporter
from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter as HttpExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Status, StatusCode, set_span_in_context

from support.spans import NOON, SECOND

EXPORTERS = {
    "grpc": lambda server: GrpcExporter(endpoint=f"http://{server.grpc}", insecure=True),
    "protobuf": lambda server: HttpExporter(endpoint=f"http://{server.http}/v1/logs"),
    "protobuf-gzip": lambda server: HttpExporter(
        endpoint=f"http://{server.http}/v1/logs", compression=Compression.Gzip
    ),
    "json": lambda server: JsonExporter(endpoint=f"http://{server.http}/v1/logs"),
}


class Agent:
    """A coding agent that logs what it does, on a clock of its own."""

    def __init__(self, server, exporter, service, scope):
        self.provider = LoggerProvider(resource=Resource.create({"service.name": service}))
        self.provider.add_log_record_processor(BatchLogRecordProcessor(EXPORTERS[exporter](server)))
        self.logger = self.provider.get_logger(scope)
        self.now = NOON
        self.common = {}

    def log(self, name, body=None, event_name=None, within=None, **attributes):
        """One event, a second after the last; within a span where one is given."""
        self.now += SECOND
        dotted = {key.replace("__", "."): value for key, value in attributes.items()}
        self.logger.emit(
            LogRecord(
                timestamp=self.now,
                context=set_span_in_context(within) if within else None,
                body=body,
                event_name=event_name,
                attributes={**self.common, "event.name": name, **dotted},
            )
        )

    def end(self):
        """Everything is sent."""
        assert self.provider.force_flush(30_000)
        self.provider.shutdown()


def claude_code(agent):
    """A prompt that is refused once, calls a tool and is answered; its input leaves the cache out."""
    agent.common = {"session.id": "claude", "prompt.id": "claude-prompt"}

    def log(name, **attributes):
        agent.log(name, body=f"claude_code.{name}", **attributes)

    usage = {"model": "claude-sonnet-4-5-20250929", "duration_ms": "800", "cost_usd": 0.5}
    log("user_prompt", prompt="TOP SECRET", prompt_length="10")
    log("api_error", model="claude-sonnet-4-5", status_code="429", attempt=1, duration_ms=200, error="TOP SECRET")
    log(
        "api_request",
        input_tokens="5",
        output_tokens="700",
        cache_read_tokens="128955",
        cache_creation_tokens="1253",
        **usage,
    )
    log("tool_decision", tool_name="Bash", decision="accept", source="user")
    log("tool_result", tool_name="Bash", success="true", duration_ms="85", tool_parameters="TOP SECRET")
    log("api_request", input_tokens=10, output_tokens=20, cache_read_tokens=0, cache_creation_tokens=0, **usage)
    return {
        "workflow": "claude-code",
        "model_calls": 2,
        "model_attempts": 3,
        "throttled_attempts": 1,
        "tool_calls": 1,
        "input_tokens": 130_223,
        "input_uncached": 15,
        "cache_read": 128_955,
        "cache_write": 1_253,
        "output_tokens": 720,
        "outcome": "ok",
    }, {"call": 4, "no_call": 2}


def codex(agent):
    """One call told by three events, the first of a request that was refused; its input holds the cache."""
    agent.common = {"conversation.id": "codex", "model": "gpt-5", "slug": "gpt-5"}

    def log(name, **attributes):
        agent.log(name, event_name="event otel/src/events/session_telemetry.rs:837", **attributes)

    request = {"endpoint": "/responses", "attempt": 0, "duration_ms": "30"}
    log("codex.user_prompt", prompt="TOP SECRET")
    log("codex.api_request", http__response__status_code=429, error__message="TOP SECRET", **request)
    log("codex.api_request", http__response__status_code=200, **request)
    log("codex.sse_event", event__kind="response.completed", duration_ms="0")
    log(
        "codex.sse_event",
        event__kind="response.completed",
        input_token_count="8647",
        output_token_count="192",
        cached_token_count=5120,
        reasoning_token_count=128,
        tool_token_count="8839",
    )
    log("codex.tool_result", tool_name="exec_command", duration_ms="64", success="true", output="TOP SECRET")
    return {
        "workflow": "codex_exec",
        "model_calls": 1,
        "model_attempts": 2,
        "throttled_attempts": 1,
        "tool_calls": 1,
        "input_tokens": 8647,
        "input_uncached": 3527,
        "cache_read": 5120,
        "output_tokens": 192,
        "reasoning_tokens": 128,
    }, {"call": 3, "no_call": 3}


def gemini_cli(agent):
    """Each attempt has an event; thoughts stand apart; a second event of the same answer is no call."""
    agent.common = {"session.id": "gemini", "prompt_id": "gemini-prompt", "auth_type": "gemini-api-key"}
    failed = {"status_code": 429, "error.type": "ApiError", "duration_ms": 19}
    agent.log("gemini_cli.api_error", model="gemini-2.5-pro", **failed)
    agent.log(
        "gemini_cli.api_response",
        model="gemini-2.5-pro",
        duration_ms=337,
        input_token_count=5001,
        output_token_count=71,
        cached_content_token_count=1001,
        thoughts_token_count=301,
        tool_token_count=0,
        total_token_count=5373,
        status_code=200,
    )
    agent.log(
        "gen_ai.client.inference.operation.details",
        gen_ai__operation__name="generate_content",
        gen_ai__usage__input_tokens=5001,
        gen_ai__usage__output_tokens=71,
        gen_ai__input__messages="TOP SECRET",
    )
    agent.log("gemini_cli.tool_call", function_name="read_file", duration_ms=17, success=True, decision="auto_accept")
    return {
        "workflow": "gemini-cli",
        "model_calls": 1,
        "model_attempts": 2,
        "throttled_attempts": 1,
        "tool_calls": 1,
        "input_tokens": 5001,
        "input_uncached": 4000,
        "cache_read": 1001,
        "output_tokens": 372,
        "reasoning_tokens": 301,
    }, {"call": 3, "no_call": 1}


AGENTS = {
    "claude-code": (claude_code, "com.anthropic.claude_code.events"),
    "codex_exec": (codex, "codex_otel.log_only"),
    "gemini-cli": (gemini_cli, "gemini-cli"),
}


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_runs_of_coding_agents(plimsoll, exporter):
    """Protects the whole way from a real log exporter to `runs`, a resend included; no content is stored."""
    expected, told = {}, {}
    with plimsoll.serve() as server:
        for _sent_twice in range(2):
            for service, (play, scope) in AGENTS.items():
                agent = Agent(server, exporter, service, scope)
                expected[service], told[service] = play(agent)
                agent.end()
        for outcome in ("call", "no_call"):
            counted = server.metric("plimsoll_ingest_log_records_total", outcome=outcome)
            assert counted == 2 * sum(counts[outcome] for counts in told.values()), server.get("/metrics")[1]
    plimsoll.run("profile")
    found = {row["workflow"]: row for row in plimsoll.sql("SELECT * FROM runs")}
    assert found.keys() == expected.keys()
    for service, columns in expected.items():
        assert {name: found[service][name] for name in columns} == columns, service
    keys = plimsoll.sql("SELECT DISTINCT service, run_key, signal FROM spans ORDER BY service")
    assert [row["run_key"] for row in keys] == ["claude-prompt", "codex", "gemini-prompt"]
    assert {row["signal"] for row in keys} == {"log"}
    assert b"TOP SECRET" not in plimsoll.run("--format", "json", "sql", "SELECT * FROM spans").stdout
    assert plimsoll.json("check") == []


def traced(server, service):
    """A tracer that sends to the server, and what ends it."""
    provider = TracerProvider(resource=Resource.create({"service.name": service}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=f"http://{server.http}/v1/traces")))
    return provider


def test_one_source_a_session(plimsoll):
    """Protects against the double count of a session that sends logs and spans of the same calls."""
    usage = {"input_tokens": 5, "output_tokens": 7, "cache_read_tokens": 100, "cache_creation_tokens": 0}
    with plimsoll.serve() as server:
        provider = traced(server, "claude-code")
        tracer = provider.get_tracer("com.anthropic.claude_code.tracing")
        agent = Agent(server, "protobuf", "claude-code", "com.anthropic.claude_code.events")
        agent.common = {"session.id": "s", "prompt.id": "p"}
        prompt = tracer.start_span(
            "claude_code.interaction", start_time=NOON, attributes={"span.type": "interaction", "session.id": "s"}
        )
        for _call in range(2):
            span = tracer.start_span(
                "claude_code.llm_request",
                context=set_span_in_context(prompt),
                start_time=agent.now,
                attributes={"span.type": "llm_request", "model": "claude-sonnet-4-5", **usage},
            )
            agent.log(
                "api_request",
                body="claude_code.api_request",
                within=prompt,
                model="claude-sonnet-4-5-20250929",
                duration_ms=900,
                **usage,
            )
            span.end(agent.now)
        prompt.end(agent.now + SECOND)
        agent.end()
        provider.shutdown()
    plimsoll.run("profile")
    run = plimsoll.one("SELECT * FROM runs")
    assert (run["model_calls"], run["input_tokens"], run["output_tokens"]) == (2, 210, 14), run
    assert run["workflow"] == "claude-code"


def test_events_of_spans(plimsoll):
    """Protects calls that are traced: GenAI log events repeat some of them, and take nothing away."""
    with plimsoll.serve() as server:
        provider = traced(server, "invoices")
        tracer = provider.get_tracer("a.library")
        agent = Agent(server, "protobuf", "invoices", "a.library")
        root = tracer.start_span("reconcile", start_time=NOON)
        common = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-5-mini"}
        counts = {"gen_ai.usage.input_tokens": 900, "gen_ai.usage.output_tokens": 30}
        for failed in (True, False, False):
            span = tracer.start_span(
                "chat gpt-5-mini",
                context=set_span_in_context(root),
                start_time=agent.now,
                attributes=common if failed else {**common, **counts},
            )
            if failed:
                span.set_attribute("error.type", "429")
                span.set_status(Status(StatusCode.ERROR))
                event, more = "gen_ai.client.operation.exception", {"exception.type": "RateLimitError"}
            else:
                event, more = "gen_ai.client.inference.operation.details", counts
            agent.log("", event_name=event, within=span, **common, **more)
            span.end(agent.now)
        root.end(agent.now)
        agent.end()
        provider.shutdown()
    plimsoll.run("profile")
    run = plimsoll.one("SELECT * FROM runs")
    expected = {"model_calls": 2, "model_attempts": 3, "throttled_attempts": 1}
    expected |= {"input_tokens": 1800, "output_tokens": 60}
    assert {name: run[name] for name in expected} == expected
    calls = plimsoll.sql("SELECT attempts, duration_ms FROM model_calls ORDER BY start_time")
    assert calls == [{"attempts": 2, "duration_ms": 2000.0}, {"attempts": 1, "duration_ms": 1000.0}]
