"""Agent runs from a real OpenTelemetry SDK, over each exporter it has: `runs` is right to the token."""

import itertools

import pytest
from opentelemetry.exporter.otlp.json.http.trace_exporter import OTLPSpanExporter as JsonExporter
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as ProtobufExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Status, StatusCode, set_span_in_context

from support.spans import NOON, SECOND

EXPORTERS = {
    "grpc": lambda server: GrpcExporter(endpoint=f"http://{server.grpc}", insecure=True),
    "protobuf": lambda server: ProtobufExporter(endpoint=f"http://{server.http}/v1/traces"),
    "protobuf-gzip": lambda server: ProtobufExporter(
        endpoint=f"http://{server.http}/v1/traces", compression=Compression.Gzip
    ),
    "json": lambda server: JsonExporter(endpoint=f"http://{server.http}/v1/traces"),
}


class Run:
    """One agent run, played on a clock of its own, on which every call takes a second.

    A client that tells the status of each request shows its retries; one that doesn't may hide some.
    """

    def __init__(self, tracer, workflow, tells_status=True, **attributes):
        self.tracer = tracer
        self.tells_status = tells_status
        self.now = NOON
        self.root = tracer.start_span(
            f"invoke_agent {workflow}",
            start_time=self.now,
            attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": workflow, **attributes},
        )

    def _child(self, name, attributes, error=None, advance=True):
        span = self.tracer.start_span(
            name, context=set_span_in_context(self.root), start_time=self.now, attributes=attributes
        )
        if error:
            span.set_attribute("error.type", error)
            span.set_status(Status(StatusCode.ERROR))
        span.end(self.now + SECOND)
        if advance:
            self.now += SECOND

    def _call(self, operation, model, attributes, error=None):
        if self.tells_status:
            attributes["http.response.status_code"] = int(error or 200)
        self._child(
            f"{operation} {model}",
            {
                "gen_ai.operation.name": operation,
                "gen_ai.provider.name": "openai",
                "gen_ai.request.model": model,
                **attributes,
            },
            error,
        )

    def chat(self, usage=None, error=None, **attributes):
        """A model call; usage is (input, output) or None where the client never learned it."""
        if usage:
            attributes |= {"gen_ai.usage.input_tokens": usage[0], "gen_ai.usage.output_tokens": usage[1]}
        self._call("chat", "gpt-5-mini", attributes, error)

    def embed(self, tokens):
        """An embedding call."""
        self._call("embeddings", "text-embedding-3-small", {"gen_ai.usage.input_tokens": tokens})

    def tools(self, *names):
        """Tools that run at once."""
        for name in names:
            self._child(
                f"execute_tool {name}",
                {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name},
                advance=False,
            )
        self.now += SECOND

    def end(self, **attributes):
        """The end of the run."""
        self.root.set_attributes(attributes)
        self.root.end(self.now)


def play(tracer, prefix):
    """Plays every shape of run; returns what `runs` must say of each."""

    def named(name):
        return f"{prefix}/{name}"

    run = Run(tracer, named("research"))
    run.embed(37)
    run.chat((1201, 83))
    run.tools("search", "fetch")
    run.chat((2903, 411))
    run.end()

    run = Run(tracer, named("throttled"))
    run.chat(error="429")
    run.chat((1000, 50))
    run.end()

    run = Run(tracer, named("cached"))
    run.chat(
        (130_213, 700),
        **{
            "gen_ai.usage.cache_read.input_tokens": 128_955,
            "gen_ai.usage.cache_creation.input_tokens": 1_253,
            "gen_ai.usage.reasoning.output_tokens": 64,
        },
    )
    run.end()

    # The agent repeats its calls' usage, as many frameworks do.
    run = Run(tracer, named("repeating"))
    run.chat((20_000, 10))
    run.chat((9_899, 20))
    run.end(**{"gen_ai.usage.input_tokens": 29_899, "gen_ai.usage.output_tokens": 30})

    # A stream without usage: what is not known is null, never zero.
    run = Run(tracer, named("silent"))
    run.chat((700, 70))
    run.chat()
    run.end()

    # A client that does not tell how its requests ended: how many there were is not known.
    run = Run(tracer, named("hiding"), tells_status=False)
    run.chat((500, 5))
    run.end()

    none = {"retries": 0, "throttled_attempts": 0, "tool_calls": 0, "embedding_calls": 0, "usage_coverage": 1.0}
    return {
        named("research"): none
        | {
            "model_calls": 2,
            "model_attempts": 2,
            "tool_calls": 2,
            "max_parallel_tools": 2,
            "embedding_calls": 1,
            "embedding_tokens": 37,
            "input_tokens": 4104,
            "output_tokens": 494,
            "duration_ms": 4000.0,
        },
        named("throttled"): none
        | {
            "model_calls": 1,
            "model_attempts": 2,
            "retries": 1,
            "throttled_attempts": 1,
            "input_tokens": 1000,
            "output_tokens": 50,
            "outcome": "ok",
        },
        named("cached"): none
        | {
            "input_tokens": 130_213,
            "input_uncached": 5,
            "cache_read": 128_955,
            "cache_write": 1_253,
            "output_tokens": 700,
            "reasoning_tokens": 64,
        },
        named("repeating"): none | {"model_calls": 2, "input_tokens": 29_899, "output_tokens": 30},
        named("silent"): none
        | {
            "model_calls": 2,
            "input_tokens": None,
            "output_tokens": None,
            "known_input_tokens": 700,
            "known_output_tokens": 70,
            "usage_coverage": 0.5,
        },
        named("hiding"): {"model_calls": 1, "input_tokens": 500, "model_attempts": None, "retries": None},
    }


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_runs_to_the_token(plimsoll, exporter):
    """Protects the whole way from a real exporter to `runs`: operations, attempts, tools and tokens."""
    with plimsoll.serve() as server:
        provider = TracerProvider(resource=Resource.create({"service.name": "sdk-suite"}))
        provider.add_span_processor(BatchSpanProcessor(EXPORTERS[exporter](server)))
        expected = play(provider.get_tracer("suite"), exporter)
        assert provider.force_flush(30_000), server.said()
        provider.shutdown()
        received = server.metric("plimsoll_ingest_spans", state="received")
        assert received == 19, server.get("/metrics")[1]
    plimsoll.run("profile")
    found = {row["workflow"]: row for row in plimsoll.sql("SELECT * FROM runs")}
    assert found.keys() == expected.keys()
    for workflow, columns in expected.items():
        assert {name: found[workflow][name] for name in columns} == columns, workflow
        assert found[workflow]["service"] == "sdk-suite"
        assert found[workflow]["complete"] is True
    assert plimsoll.json("check") == []


def test_all_exporters_at_once_and_a_second_round(plimsoll):
    """Protects one lake that several exporters feed, and a round of jobs over what is new only."""
    expected = {}
    for number in itertools.count():
        with plimsoll.serve() as server:
            for name, make in EXPORTERS.items():
                provider = TracerProvider(resource=Resource.create({"service.name": name}))
                provider.add_span_processor(BatchSpanProcessor(make(server)))
                expected |= play(provider.get_tracer("suite"), f"{name}/{number}")
                provider.shutdown()
        made = plimsoll.json("profile")
        assert made["runs"] == len(expected) // (number + 1), "only the new runs are made"
        if number == 1:
            break
    assert plimsoll.json("profile")["changed"] is False
    total = plimsoll.one("SELECT count(*) AS runs, count(DISTINCT workflow) AS workflows FROM runs")
    assert total == {"runs": len(expected), "workflows": len(expected)}
