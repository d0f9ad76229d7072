"""A real OpenTelemetry Collector before Plimsoll: onto Kafka, into a file, and straight into the receiver."""

import time
from pathlib import Path

import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from support.balance import Balance
from support.kafka import Kafka, fresh, until
from support.readers import span_ids
from support.services import script, settings, wanted
from support.storm import CALLS_A_RUN, Agents, Storm

STORM_S = 60


@pytest.fixture
def collector():
    """Starts collectors that `deploy/dev/collector` has built, and ends them."""
    wanted("collector", "COLLECTOR_GRPC")
    started = []

    def start(to, **env):
        script("collector", "up", to, **env)
        started.append(to)
        return settings("collector", to)

    yield start
    for to in started:
        script("collector", "down", to)


def traced(endpoint, number):
    """Sends spans with the SDK over HTTP; their ids."""
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=f"http://{endpoint}/v1/traces")))
    tracer = provider.get_tracer("suite")
    ids = []
    for _ in range(number):
        with tracer.start_as_current_span("chat", attributes={"gen_ai.operation.name": "chat"}) as span:
            ids.append(format(span.get_span_context().span_id, "016x"))
    provider.force_flush()
    provider.shutdown()
    return sorted(ids)


def test_the_file_exporters_lines_are_ingested(plimsoll, collector):
    """Protects `ingest` of what the collector's file exporter writes: every span, once, however often it is read."""
    to = collector("file")
    sent = traced(to["COLLECTOR_HTTP"], 1500)
    file = Path(to["COLLECTOR_FILE"])
    until(lambda: file.read_text().count('"spanId"') == len(sent), "the collector has written them")
    for _ in range(2):
        plimsoll.run("ingest", file)
    for rows in span_ids(plimsoll.lake):
        assert sorted(rows) == sent


def test_the_collector_waits_for_a_receiver_that_is_down(plimsoll, collector, unused_port):
    """Protects the usual set-up: the collector sends to `serve` over gRPC, tries again while it is down or was
    killed, and every span is stored."""
    address = f"127.0.0.1:{unused_port}"
    to = collector("otlp", PLIMSOLL_ENDPOINT=address)
    agents = Agents(to["COLLECTOR_GRPC"], 10)
    with Balance() as books:
        for _ in range(3):
            with plimsoll.serve(grpc=address) as server:
                books.watch(server)
                time.sleep(2)
                server.kill()
            time.sleep(1)
        with plimsoll.serve(grpc=address) as server:
            books.watch(server)
            agents.stop()
            stored = lambda: set(span_ids(plimsoll.lake)[0])  # noqa: E731
            until(lambda: stored() >= agents.sent, "every span is stored", 120, 1)
    rows, _ = span_ids(plimsoll.lake)
    # A batch whose answer was lost with a kill is sent again, and stands twice.
    assert set(rows) == agents.sent
    plimsoll.run("profile")
    runs = plimsoll.one("SELECT count(*) AS runs, sum(model_calls) AS calls FROM runs")
    assert runs["calls"] == CALLS_A_RUN * runs["runs"] == len(agents.sent) - runs["runs"]


@pytest.mark.timeout(600)
def test_a_minute_of_kills(plimsoll):
    """Protects the promise as a whole: SDK to collector to three brokers to two `serve` of one group to one lake,
    with a `serve` killed every few seconds, a broker killed and partitions moving. Exactly the spans sent, once each;
    the books right at every sample; DuckDB and deltalake see Plimsoll's rows all along."""
    wanted("collector", "COLLECTOR_GRPC")
    kafka = Kafka(*wanted("kafka", "KAFKA_BOOTSTRAP"))
    topic, group = kafka.create(fresh("otlp_spans"), 6), fresh("plimsoll")
    storm = Storm(kafka, topic, group, plimsoll, seed=2026)
    storm.run(STORM_S)
    print(storm.verify())
    plimsoll.run("profile")
    runs = plimsoll.one("SELECT count(*) AS runs, sum(model_calls) AS calls FROM runs")
    assert runs["calls"] == CALLS_A_RUN * runs["runs"] == len(storm.agents.sent) - runs["runs"]
    plimsoll.run("check")
