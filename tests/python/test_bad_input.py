"""What is wrong on the wire, in files, in settings and on the disk: each gets its answer, nothing else
is lost, and the process lives."""

import gzip
import os
import subprocess

import pytest

from support.spans import JSON, NOON, agent, chat, post, request, send, span

GIBIBYTE = 1 << 30


def test_odd_spans_cost_only_themselves(plimsoll):
    """Protects good spans from bad neighbours: times out of range are quarantined, a negative duration is
    null, numbers that are none are null and not zero, and every span received is accounted for."""
    good = agent("good")
    # In order: no start, the first instant past signed 64 bits, the last of all.
    impossible = [span("impossible", start=start, seconds=0) for start in (0, 1 << 63, (1 << 64) - 1)]
    backwards = span("backwards", start=NOON, seconds=-0.000_000_001)
    root = agent("numbers")
    nan = chat(root, float("nan"), 7)
    text = chat(root, "1200", "34")
    short = span("short id")
    short.trace_id = b"fifteen bytes.."
    everything = [good, chat(good, 100, 10), *impossible, backwards, root, nan, text, short]
    with plimsoll.serve() as server:
        answer = send(server, request(everything).SerializeToString())
        assert answer.status == 200
        assert answer.partial().rejected_spans == 1
        assert server.get("/healthz")[0] == 200
        counts = {
            state: server.metric("plimsoll_ingest_spans", state=state)
            for state in ("received", "stored", "quarantined", "rejected", "in_flight")
        }
        assert counts["received"] == len(everything)
        assert counts["rejected"] == 1
        assert counts["received"] == sum(counts.values()) - counts["received"]
    reasons = plimsoll.sql("SELECT reason, start_unix_nano FROM quarantine ORDER BY start_unix_nano")
    assert [row["reason"] for row in reasons] == ["time_out_of_range"] * 3
    assert {row["start_unix_nano"] for row in reasons} == {"0", str(1 << 63), str((1 << 64) - 1)}
    negative = plimsoll.one(
        "SELECT duration_ms, CAST(quality AS VARCHAR) AS quality FROM spans WHERE name = 'backwards'"
    )
    assert negative["duration_ms"] is None and "negative_duration" in negative["quality"]
    days = os.listdir(plimsoll.lake / "spans")
    assert not [day for day in days if "1970" in day or "2262" in day]

    plimsoll.run("profile")
    runs = {row["workflow"]: row for row in plimsoll.sql("SELECT * FROM runs")}
    assert runs["good"]["input_tokens"] == 100
    assert runs["numbers"]["input_tokens"] is None, "NaN is not zero"
    assert runs["numbers"]["known_input_tokens"] == 1200, "a count sent as text is a count"
    assert runs["numbers"]["output_tokens"] == 41


def test_logs_on_the_traces_path_leave_no_rows(plimsoll):
    """Protects the tables from another signal's bodies: they decode to spans without ids, as protobuf."""
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
    from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs

    record = LogRecord(time_unix_nano=NOON, severity_text="INFO")
    logs = ExportLogsServiceRequest(resource_logs=[ResourceLogs(scope_logs=[ScopeLogs(log_records=[record] * 3)])])
    with plimsoll.serve() as server:
        answer = send(server, logs.SerializeToString())
        assert answer.status == 400 or answer.partial().rejected_spans == 3
        as_json = send(server, b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[{}]}]}]}', JSON)
        assert as_json.status in (200, 400)
        post(server, [agent("after")])
    assert plimsoll.one("SELECT count(*) AS n FROM spans")["n"] == 1


def test_decompression_bomb(plimsoll):
    """Protects memory: ten MiB of gzip that inflate to ten GiB are refused for good, in bounded memory."""
    member = gzip.compress(bytes(GIBIBYTE // 8))
    bomb = member * 80
    assert len(bomb) < 12 << 20
    with plimsoll.serve() as server:
        post(server, [agent("before")])
        before = server.resident_peak_bytes()
        answer = send(server, bomb, coding="gzip", timeout=120)
        assert answer.status == 413, answer.text
        assert "retry-after" not in answer.headers
        grown = server.resident_peak_bytes() - before
        assert grown < 300 << 20, f"grew by {grown >> 20} MiB"
        post(server, [agent("after")])
    assert plimsoll.one("SELECT count(*) AS n FROM spans")["n"] == 2


def test_requests_over_the_limit(plimsoll):
    """Protects the limit that a user sets: over it 413, under it success."""
    plimsoll.config("[otlp]\nmax_message_bytes = 100000\n")
    large = request([span("x", note="y" * 200_000)]).SerializeToString()
    with plimsoll.serve() as server:
        assert send(server, large).status == 413
        assert send(server, gzip.compress(large), coding="gzip").status == 413
        post(server, [agent("small")])


UNREADABLE = {
    "absent.jsonl": None,
    "folder": "folder",
    "garbage.pb": b"\x00\xff" * 500,
    "cut.json": b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "5b8e',
    "noise.csv": b"colour,shape\nred,round\n",
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_unreadable_files_are_told(plimsoll, name):
    """Protects `ingest`: a file of which nothing can be read is named, with exit code 2, in one line."""
    path = plimsoll.folder / name
    content = UNREADABLE[name]
    if content == "folder":
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)
    said = plimsoll.run("ingest", path, code=2).stderr.decode()
    assert said.startswith("plimsoll: ") and name in said
    assert said.count("\n") == 1 and said.strip().isprintable(), said
    rows = plimsoll.folder / "good.csv"
    rows.write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n2026-11-03 15:00:00.0000000,10,1\n")
    assert plimsoll.json("ingest", rows)["spans"] > 0


@pytest.mark.parametrize(
    "text, hint",
    [
        ("[otlp]\ngrcp = '127.0.0.1:4317'\n", "grpc"),
        ("[jobs]\nevery = 'soon'\n", "every"),
        ("[otlp\n", "plimsoll.toml:1"),
    ],
)
def test_settings_are_checked(plimsoll, text, hint):
    """Protects users of plimsoll.toml: an unknown key is an error that says what was probably meant."""
    plimsoll.config(text)
    said = plimsoll.run("sql", "select 1", code=2).stderr.decode()
    assert "plimsoll.toml" in said and hint in said, said


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 96 MiB, which one journal segment of 64 MiB and little else fits on."""
    mount = tmp_path / "small"
    mount.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=96m", "tmpfs", str(mount)], capture_output=True, check=False
    )
    if made.returncode != 0:
        pytest.skip(f"cannot mount a small file system here: {made.stderr.decode().strip()}")
    yield mount
    subprocess.run(["umount", "--lazy", str(mount)], check=True)


def test_full_disk(plimsoll, small_disk):
    """Protects what was acknowledged from a disk that fills up: senders are asked to come again, what was
    taken stays, and once there is room the server, or its successor, goes on."""
    plimsoll.lake = small_disk / "lake"
    filler = small_disk / "filler"
    taken = 0
    with plimsoll.serve() as server:
        post(server, [agent("first")])
        taken += 1
        free = os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize
        filler.write_bytes(bytes(max(0, free - (64 << 10))))
        refused = None
        for _ in range(300):
            answer = send(server, request([span("load", note=os.urandom(150_000).hex())]).SerializeToString())
            if answer.status != 200:
                refused = answer
                break
            taken += 1
        assert refused is None or (refused.status in (429, 503) and "retry-after" in refused.headers), refused.text
        assert server.process.poll() is None, server.said()
        print(f"{taken - 1} requests taken on the full disk; then {refused and refused.status}")
        filler.unlink()
        server.kill()
    with plimsoll.serve() as server:
        post(server, [agent("last")])
        taken += 1
    assert plimsoll.one("SELECT count(*) AS n FROM spans")["n"] == taken
