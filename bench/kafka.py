"""From Kafka to durable Parquet: spans per CPU-second and memory of a release build, beside two peers.

A topic is filled with batches of 512 spans of 20 attributes; then each reader has it to itself, from the first message
to the last committed offset. Processor time is that of the reader alone, the kernel's on its behalf included. The
broker is a real one: `deploy/dev/kafka up`, then `set -a; . <(deploy/dev/kafka env); set +a`.

Peers:
* pyarrow: confluent-kafka, the OTLP classes of opentelemetry-proto, a table of a dozen columns, Parquet with zstd; one
  file and one commit of offsets every five seconds. It does less: no dialects, no table log, no exactly-once.
* collector: the OpenTelemetry Collector's Kafka receiver and its file exporter, protobuf with zstd, as built by
  `deploy/dev/collector`. It writes no columns at all.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from run import ATTRIBUTES, BATCH, BODIES, ROOT, body, machine

sys.path.insert(0, str(ROOT / "tests" / "python"))

from support.command import Plimsoll  # noqa: E402
from support.kafka import Kafka, fresh, until  # noqa: E402
from support.services import script  # noqa: E402

GOAL, MEMORY_MIB = 150_000, 512
PARTITIONS = 4
PATIENCE_S = 600


def used(pid):
    """CPU-seconds that a process has used, and MiB of memory that it has held at most."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    peak = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), int(peak[1]) / 1024


def fill(kafka, topic, messages):
    """Puts so many batches onto the topic, none like another of its kind."""
    bodies = [body(number) for number in range(BODIES)]
    for _ in range(messages // BODIES):
        for partition in range(PARTITIONS):
            kafka.send(topic, *bodies[partition::PARTITIONS], partition=partition)
    return len(bodies[0]) // BATCH


def at_end(kafka, group, topic):
    """Whether a group has committed all that is on a topic."""
    return kafka.committed(group, topic).items() >= {n: end for n, end in kafka.ends(topic).items() if end}.items()


def ours(kafka, topic, binary, folder):
    """`plimsoll serve` in the role of a writer."""
    plimsoll, group = Plimsoll(binary, folder), fresh("plimsoll")
    plimsoll.config(f'[kafka]\nbrokers = "{kafka.bootstrap}"\ntopics = ["{topic}"]\ngroup = "{group}"\n')
    # Its start, which reads the dialects, is not what is measured; the first messages of it are.
    with plimsoll.serve("--roles", "write") as server:
        started = time.monotonic()
        until(lambda: at_end(kafka, group, topic), "all is stored", PATIENCE_S)
        took, figures = time.monotonic() - started, used(server.process.pid)
    rows = plimsoll.one("SELECT count(*) AS n FROM spans")["n"]
    return rows, took, *figures


def pyarrow(kafka, topic, folder):
    """This file's own consumer, in a process of its own."""
    group = fresh("pyarrow")
    line = [sys.executable, __file__, "--consume", kafka.bootstrap, topic, group, str(folder)]
    process = subprocess.Popen(line)
    started = time.monotonic()
    until(lambda: at_end(kafka, group, topic), "all is written", PATIENCE_S)
    took, figures = time.monotonic() - started, used(process.pid)
    process.kill()
    process.wait()
    import pyarrow.parquet as pq

    return sum(pq.read_metadata(file).num_rows for file in folder.glob("*.parquet")), took, *figures


def consume(bootstrap, topic, group, folder):
    """What a pipeline by hand looks like; ended from outside."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from confluent_kafka import Consumer
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    promoted = {
        "gen_ai.operation.name": "operation",
        "gen_ai.provider.name": "provider",
        "gen_ai.request.model": "model",
        "gen_ai.usage.input_tokens": "input_tokens",
        "gen_ai.usage.output_tokens": "output_tokens",
        "plimsoll.workflow": "workflow",
    }
    text, number = pa.string(), pa.int64()
    schema = pa.schema(
        [(name, text) for name in ("trace_id", "span_id", "parent_span_id", "name", "service")]
        + [("start_unix_nano", number), ("end_unix_nano", number), ("status", number)]
        + [(name, number if "tokens" in name else text) for name in promoted.values()]
        + [("attributes", pa.map_(text, text))]
    )
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([topic])
    rows, due, files = [], time.monotonic() + 5, 0
    while True:
        for message in consumer.consume(64, 0.5):
            for resource in ExportTraceServiceRequest.FromString(message.value()).resource_spans:
                service = next(
                    (a.value.string_value for a in resource.resource.attributes if a.key == "service.name"), None
                )
                for scope in resource.scope_spans:
                    for span in scope.spans:
                        row = {
                            "trace_id": span.trace_id.hex(),
                            "span_id": span.span_id.hex(),
                            "parent_span_id": span.parent_span_id.hex(),
                            "name": span.name,
                            "service": service,
                            "start_unix_nano": span.start_time_unix_nano,
                            "end_unix_nano": span.end_time_unix_nano,
                            "status": span.status.code,
                        }
                        rest = []
                        for attribute in span.attributes:
                            value = getattr(attribute.value, attribute.value.WhichOneof("value"))
                            if attribute.key in promoted:
                                row[promoted[attribute.key]] = value
                            else:
                                rest.append((attribute.key, str(value)))
                        row["attributes"] = rest
                        rows.append(row)
        if rows and time.monotonic() >= due:
            path = Path(folder) / f"{files}.parquet"
            pq.write_table(pa.Table.from_pylist(rows, schema), path, compression="zstd")
            with path.open("rb") as written:
                os.fsync(written.fileno())
            consumer.commit(asynchronous=False)
            rows, due, files = [], time.monotonic() + 5, files + 1


def collector(kafka, topic, folder):
    """The collector, from Kafka into a file."""
    group = fresh("collector")
    started = time.monotonic()
    services = {"PLIMSOLL_DEV_STATE": str(folder), "KAFKA_BOOTSTRAP": kafka.bootstrap}
    script("collector", "up", "from-kafka", KAFKA_TOPIC=topic, KAFKA_GROUP=group, **services)
    try:
        pid = int((folder / "collector-from-kafka" / "pid").read_text())
        until(lambda: at_end(kafka, group, topic), "all is written", PATIENCE_S)
        took, figures = time.monotonic() - started, used(pid)
    finally:
        script("collector", "down", "from-kafka", **services)
    return None, took, *figures


def main():
    """Measures and prints."""
    if sys.argv[1:2] == ["--consume"]:
        return consume(*sys.argv[2:])
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    named = os.environ.get("PLIMSOLL_BIN", target / "release" / "plimsoll")
    options.add_argument("--binary", type=Path, default=Path(named))
    options.add_argument("--messages", type=int, default=4000, help="of 512 spans each")
    options.add_argument("--peers", default="pyarrow,collector", help="which, parted by commas; none where empty")
    options.add_argument("--dir", type=Path, help="where lakes are made: on the disk that is to be measured")
    chosen = options.parse_args()
    if not chosen.binary.is_file():
        sys.exit(f"{chosen.binary} is not there: run `cargo build --release`, or name it with --binary")
    if "KAFKA_BOOTSTRAP" not in os.environ:
        sys.exit(
            "KAFKA_BOOTSTRAP is not set: run `deploy/dev/kafka up` and `set -a; . <(deploy/dev/kafka env); set +a`"
        )

    print(machine())
    kafka = Kafka(os.environ["KAFKA_BOOTSTRAP"])
    topic = kafka.create(fresh("bench"), PARTITIONS)
    messages = chosen.messages // BODIES * BODIES
    size = fill(kafka, topic, messages)
    spans = messages * BATCH
    print(f"  {spans:,} spans of {ATTRIBUTES} attributes and {size} bytes in {messages:,} messages")
    folder = Path(tempfile.mkdtemp(prefix="plimsoll-bench-", dir=chosen.dir))
    readers = {"plimsoll": lambda into: ours(kafka, topic, chosen.binary.resolve(), into)}
    readers |= {
        "pyarrow": lambda into: pyarrow(kafka, topic, into),
        "collector": lambda into: collector(kafka, topic, into),
    }
    measured = {}
    try:
        for name in ("plimsoll", *filter(None, chosen.peers.split(","))):
            (folder / name).mkdir()
            rows, took, cpu, memory = readers[name](folder / name)
            assert rows in (None, spans), f"{name} wrote {rows} rows of {spans}"
            measured[name] = (spans / cpu, spans / took, memory)
            shutil.rmtree(folder / name)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        kafka.delete(topic)

    rate, _, memory = measured["plimsoll"]
    print("\n| reader | spans per CPU-second | ours / it | spans per second | MiB at most |\n|---|--:|--:|--:|--:|")
    for name, (each, wall, held) in measured.items():
        print(f"| {name} | {each:,.0f} | {rate / each:.2f} | {wall:,.0f} | {held:,.0f} |")
    print(f"\ngoals: {GOAL:,} spans per CPU-second {'met' if rate >= GOAL else 'MISSED'}, ", end="")
    print(f"{MEMORY_MIB} MiB {'met' if memory <= MEMORY_MIB else 'MISSED'}")
    return None


if __name__ == "__main__":
    main()
