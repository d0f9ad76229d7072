"""The speed figures of a release build, from outside: what a user of the command gets.

`python bench/run.py` prints the machine, then each figure beside its goal. README.md says how to set it up.
Single stages have benches of their own: `cargo bench -p plimsoll-otlp`, `-p plimsoll-ingest`, `-p plimsoll-lake`.
"""

import argparse
import http.client
import multiprocessing
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "python"))

from support.command import Plimsoll, environment  # noqa: E402
from support.spans import NOON, PROTOBUF, SECOND, agent, chat, request  # noqa: E402

BATCH = 512
ATTRIBUTES = 20
CONNECTIONS = 4
# Different bodies, so that nothing compresses by being the same.
BODIES = 32


def machine():
    """One line that says what the figures were measured on."""
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    memory = int(re.search(r"MemTotal:\s+(\d+)", Path("/proc/meminfo").read_text())[1]) / (1 << 20)
    rustc = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=False).stdout.split()
    return (
        f"{cpu[1] if cpu else platform.processor()}, {os.cpu_count()} processors, {memory:.0f} GiB, "
        f"Linux {platform.release()}, rustc {rustc[1] if len(rustc) > 1 else 'unknown'}"
    )


def body(number):
    """A request of 512 spans with 20 attributes each, none like another."""
    spans = []
    while len(spans) < BATCH:
        start = NOON + (number * BATCH + len(spans)) * SECOND // 50
        root = agent(f"workflow-{number % 4}", start=start, seconds=9.0)
        spans += [root, *(chat(root, 1000 + number + call, 100 + call, start=start) for call in range(9))]
    for place, span in enumerate(spans):
        for extra in range(ATTRIBUTES - len(span.attributes)):
            attribute = span.attributes.add(key=f"bench.attribute.{extra}")
            attribute.value.string_value = f"value {number}-{place}-{extra}"
    return request(spans[:BATCH]).SerializeToString()


def send(address, bodies, requests):
    """Posts bodies on one connection; a refusal is sent again after the wait that it asks for."""
    host, port = address.split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=60)
    for number in range(requests):
        while True:
            connection.request("POST", "/v1/traces", bodies[number % len(bodies)], {"Content-Type": PROTOBUF})
            answer = connection.getresponse()
            answer.read()
            if answer.status == 200:
                break
            time.sleep(float(answer.headers.get("Retry-After", 1)))


def receive(binary, folder, requests):
    """Spans per CPU-second from an HTTP body to durable journal and Parquet, and the memory for it."""
    bodies = [body(number) for number in range(BODIES)]
    plimsoll = Plimsoll(binary, folder)
    with plimsoll.serve() as server:
        started, cpu = time.monotonic(), server.cpu_seconds()
        context = multiprocessing.get_context("spawn")
        share = requests // CONNECTIONS
        senders = [context.Process(target=send, args=(server.http, bodies, share)) for _ in range(CONNECTIONS)]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()
            assert sender.exitcode == 0
        spans = share * CONNECTIONS * BATCH
        while server.metric("plimsoll_ingest_spans", state="stored") < spans:
            time.sleep(0.2)
        took, cpu = time.monotonic() - started, server.cpu_seconds() - cpu
        memory = server.resident_peak_bytes()
    print(f"  received {spans:,} spans in {took:.1f} s, {len(bodies[0]) // BATCH} bytes a span")
    return spans / cpu, memory / (1 << 20)


def profiles(binary, folder, spans):
    """Seconds from a million spans in the lake to runs, profiles and draws, and the memory for it."""
    plimsoll = Plimsoll(binary, folder)
    # The example company has some 600,000 spans at scale 1.
    file = folder / "spans.pb"
    plimsoll.run("generate", "--scale", f"{spans / 600_000:.3f}", "--to", file, lake=False, timeout=600)
    plimsoll.run("ingest", file, timeout=600)
    stored = plimsoll.one("SELECT count(*) AS n FROM spans")["n"]
    started = time.monotonic()
    line = [binary, "--lake", plimsoll.lake, "profile"]
    process = subprocess.Popen(line, env=environment(), stdout=subprocess.DEVNULL)
    # Of this process alone, where `getrusage` tells of the largest child so far.
    _, status, usage = os.wait4(process.pid, 0)
    took = time.monotonic() - started
    assert os.waitstatus_to_exitcode(status) == 0
    memory = usage.ru_maxrss / 1024
    cpu = usage.ru_utime + usage.ru_stime
    print(f"  {stored:,} spans to profiles in {took:.1f} s and {cpu:.1f} CPU-seconds, {memory:.0f} MiB")
    return took * spans / stored, memory


def demo(binary, folder):
    """Seconds of the whole `demo`."""
    started = time.monotonic()
    Plimsoll(binary, folder).run("demo", "--dir", folder / "demo", lake=False, timeout=900)
    return time.monotonic() - started


def select_one(binary, folder):
    """Seconds of `plimsoll sql 'select 1'` on the demo's lake: the median of eleven."""
    plimsoll = Plimsoll(binary, folder)
    plimsoll.lake = folder / "demo" / "lake"
    times = []
    for _ in range(11):
        started = time.monotonic()
        plimsoll.run("sql", "select 1")
        times.append(time.monotonic() - started)
    return statistics.median(times)


def main():
    """Measures and prints."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    options.add_argument("--binary", type=Path, default=target / "release" / "plimsoll")
    options.add_argument("--requests", type=int, default=4000, help="of 512 spans each, for the receive figure")
    options.add_argument("--spans", type=int, default=1_000_000, help="for the profile figure")
    options.add_argument("--dir", type=Path, help="where lakes are made: on the disk that is to be measured")
    chosen = options.parse_args()
    if not chosen.binary.is_file():
        sys.exit(f"{chosen.binary} is not there: run `cargo build --release`, or name it with --binary")

    print(machine())
    folder = Path(tempfile.mkdtemp(prefix="plimsoll-bench-", dir=chosen.dir))
    figures = []
    try:
        for name in ("receive", "profiles", "demo"):
            (folder / name).mkdir()
        rate, memory = receive(chosen.binary, folder / "receive", chosen.requests)
        figures.append(("spans per CPU-second, HTTP to journal and Parquet", rate, 150_000, "least"))
        figures.append(("MiB of memory while doing it, at most", memory, 512, "most"))
        seconds, memory = profiles(chosen.binary, folder / "profiles", chosen.spans)
        figures.append((f"s from {chosen.spans:,} spans to profiles", seconds, 5, "most"))
        figures.append(("MiB of memory while making them, at most", memory, 1024, "most"))
        figures.append(("s of demo", demo(chosen.binary, folder / "demo"), 60, "most"))
        figures.append(("s of sql 'select 1'", select_one(chosen.binary, folder / "demo"), 0.3, "most"))
    finally:
        shutil.rmtree(folder, ignore_errors=True)

    print("\n| figure | measured | goal | measured / goal | |\n|---|--:|--:|--:|---|")
    for name, measured, goal, kind in figures:
        met = measured >= goal if kind == "least" else measured <= goal
        print(f"| {name} | {measured:,.4g} | {goal:,} | {measured / goal:.2f} | {'met' if met else 'MISSED'} |")


if __name__ == "__main__":
    main()
