"""The bad minute: a Python SDK sends through a real collector and a real Kafka to two `serve` of one group, while
processes are killed with -9 every few seconds, a broker dies, and partitions move.

`test_collector.py` runs it for a minute, `deploy/dev/soak` for as long as one likes; both then hold the lake against
what was sent.
"""

import random
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack

from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, set_span_in_context

from support.balance import Balance
from support.command import Server
from support.kafka import AWAY_S, until
from support.readers import pandas, span_ids
from support.services import script, settings

CALLS_A_RUN = 9
# Jobs and upkeep at work all the time, which in earnest they are every few minutes.
CONFIG = """
[kafka]
brokers = "{brokers}"
topics = ["{topic}"]
group = "{group}"
[journal]
folder = "journal"
[jobs]
every = "2s"
"""
DRAIN_S = 240


def step(what):
    """Says where a trial has got to."""
    print(time.strftime("%H:%M:%S"), what, flush=True)


class Agents:
    """Agents that run one after another, traced by the SDK; remembers every span that it ended."""

    def __init__(self, endpoint, runs_per_second):
        self.provider = TracerProvider(resource=Resource.create({"service.name": "storm"}))
        exporter = OTLPSpanExporter(endpoint=f"http://{endpoint}", insecure=True, timeout=60)
        self.provider.add_span_processor(
            BatchSpanProcessor(exporter, max_queue_size=100_000, schedule_delay_millis=200, max_export_batch_size=512)
        )
        self.tracer = self.provider.get_tracer("storm")
        self.pause = 1 / runs_per_second
        self.sent = set()
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()

    def _run(self):
        root = self.tracer.start_span(
            "invoke_agent storm",
            attributes={"gen_ai.operation.name": "invoke_agent", "plimsoll.workflow": "storm"},
        )
        within = set_span_in_context(root)
        spans = [root]
        for number in range(CALLS_A_RUN):
            call = {
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": "anthropic",
                "gen_ai.request.model": "claude-sonnet-4-5",
                "gen_ai.usage.input_tokens": 1000 + number,
                "gen_ai.usage.output_tokens": 100,
            }
            spans.append(self.tracer.start_span("chat", within, kind=SpanKind.CLIENT, attributes=call))
        for span in reversed(spans):
            span.end()
        self.sent.update(format(span.get_span_context().span_id, "016x") for span in spans)

    def _work(self):
        due = time.monotonic()
        while not self.stopped.is_set():
            self._run()
            due += self.pause
            self.stopped.wait(max(0.0, due - time.monotonic()))

    def stop(self):
        """Ends the last run and sends what waits."""
        self.stopped.set()
        self.thread.join()
        assert self.provider.force_flush(120_000), "the collector did not take what waited"
        self.provider.shutdown()


class Storm:
    """All of it; `seed` decides who is killed when."""

    def __init__(self, kafka, topic, group, plimsoll, seed, runs_per_second=25):
        self.kafka, self.topic, self.group = kafka, topic, group
        self.partitions = len(kafka.partitions(topic))
        self.plimsoll, self.rate = plimsoll, runs_per_second
        self.processes = {name: plimsoll.beside(name) for name in ("one", "two")}
        for each in self.processes.values():
            each.config(CONFIG.format(brokers=kafka.bootstrap, topic=topic, group=group))
        self.random = random.Random(seed)
        self.servers = {}
        self.books = Balance()
        self.failed = False
        self.kills = self.broker_kills = self.moves = self.checks = 0
        self.agents = None

    def _start(self, name):
        server = Server(self.processes[name])
        # From here on it can be killed, whether it is ready or not.
        self.servers[name] = server
        server.wait_until_ready()
        self.books.watch(server)

    def _a_broker_dies(self):
        node = self.random.randrange(1, len(self.kafka.bootstrap.split(",")) + 1)
        script("kafka", "kill", node)
        self.broker_kills += 1
        time.sleep(self.random.uniform(4, 7))
        script("kafka", "start", node)

    def _a_reader_dies(self):
        """Half of the killed are back before the group gives their partitions away, the others after that."""
        name = self.random.choice(sorted(self.processes))
        self.servers.pop(name).kill()
        self.kills += 1
        if self.random.random() < 0.5:
            time.sleep(self.random.uniform(0.0, 2.0))
        else:
            (left,) = self.servers.values()
            until(lambda: left.partitions() == self.partitions, f"the partitions of {name} have moved", AWAY_S)
            self.moves += 1
        self._start(name)

    def _pinned(self):
        """The version of `spans` that Plimsoll's readers see: that of the last round of jobs."""
        rounds = self.plimsoll.sql("SELECT versions['spans'] AS v FROM snapshots ORDER BY lake_version DESC LIMIT 1")
        return rounds[0]["v"] if rounds else None

    def _readers_agree(self):
        """At the version that Plimsoll reads, deltalake sees the same rows; DuckDB, which reads the newest one, sees
        these too; nobody sees a row twice."""
        version = self._pinned()
        ours = [row["span_id"] for row in self.plimsoll.sql("SELECT span_id FROM spans")]
        # Before the first round it reads the newest; one that ended just now has moved it.
        if version is not None and version == self._pinned():
            theirs = list(pandas(self.plimsoll.lake, "spans", ["span_id"], version).span_id)
            assert sorted(ours) == sorted(theirs), f"version {version}: {len(ours)} rows, by deltalake {len(theirs)}"
            self.checks += 1
        duck, newest = span_ids(self.plimsoll.lake)
        assert Counter(ours) <= Counter(duck) <= Counter(newest), "a row that was there is gone"

    def run(self, seconds, report=lambda _: None):
        """Sends and kills for so long, then lets everything come to rest; `report` is told once a minute."""
        with ExitStack() as ending:
            ending.callback(lambda: [server.end() for server in list(self.servers.values())])
            ending.enter_context(self.books)
            ending.callback(script, "collector", "down", "kafka")
            script("collector", "up", "kafka", KAFKA_BOOTSTRAP=self.kafka.bootstrap, KAFKA_TOPIC=self.topic)
            for name in self.processes:
                self._start(name)
            self.agents = Agents(settings("collector", "kafka")["COLLECTOR_GRPC"], self.rate)
            over = time.monotonic() + seconds
            step("sending")
            with ThreadPoolExecutor() as pool:
                tasks = [
                    pool.submit(self._again, over, (1, 3), self._a_reader_dies),
                    pool.submit(self._again, over, (10, 30), self._a_broker_dies),
                    # All the time in a short trial, a hundred times and more in a long one: each reads the whole lake.
                    pool.submit(self._again, over, (0, seconds / 100), self._readers_agree),
                    pool.submit(self._again, over, (60, 60), lambda: report(self)),
                ]
                # Whatever went wrong in one ends all.
                for task in as_completed(tasks):
                    self.failed = self.failed or task.exception() is not None
            for task in tasks:
                task.result()
            step("no more kills")
            self.agents.stop()
            step("all sent")
            try:
                until(lambda: not self._behind(), "the group is at the end of the topic", DRAIN_S, 0.5)
            except AssertionError:
                self._say_where_it_hangs()
                raise
            step("all stored")
            for server in self.servers.values():
                server.terminate(timeout=120)
            step("ended")

    def _again(self, over, pause, what):
        """Does something again and again, so many seconds apart (least, most), until it is over."""
        while not self.failed and (left := over - time.monotonic()) > 0:
            time.sleep(min(left, self.random.uniform(*pause)))
            what()

    def _behind(self):
        """The partitions whose end the group has not told to have reached, with that end."""
        ends = {number: end for number, end in self.kafka.ends(self.topic).items() if end > 0}
        assert ends, "nothing is on the topic"
        return dict(ends.items() - self.kafka.committed(self.group, self.topic).items())

    def _say_where_it_hangs(self):
        """Whether the group, the readers or the lake are behind."""
        step(f"ends of partitions that are behind: {self._behind()}")
        step(f"told by the group: {self.kafka.committed(self.group, self.topic)}")
        for name, server in self.servers.items():
            told = [line for line in server.get("/metrics")[1].splitlines() if line.startswith("plimsoll_ingest_")]
            step("\n  ".join([f"server {name}: ready {server.get('/readyz')[0]}", *told]))

    def verify(self):
        """Exactly what was sent is on the topic, exactly what is on the topic is in the lake; figures of it."""
        sent, on_topic = self.agents.sent, self.kafka.spans(self.topic)
        assert set(on_topic) == sent, f"{len(sent - set(on_topic))} spans did not reach the topic"
        duck, pandas = span_ids(self.plimsoll.lake)
        # What the collector sent twice, when a broker's answer was lost, stands twice in the topic and the table.
        for rows in (duck, pandas):
            assert sorted(rows) == sorted(on_topic.elements())
        return {
            "spans": len(sent),
            "resent by the collector": on_topic.total() - len(sent),
            "kills of serve": self.kills,
            "kills of a broker": self.broker_kills,
            "moves of partitions": self.moves,
            "samples of the books": self.books.samples,
            "comparisons of readers": self.checks,
            "MiB of memory at most": round(self.books.peak_bytes / (1 << 20)),
        }
