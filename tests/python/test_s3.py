"""A lake on a real S3 server: several processes at once, kills, and what goes wrong between them and the store."""

import os
import random
import time

import pytest

from support.balance import Balance, spans
from support.faults import Faults, proxy
from support.kafka import fresh, until
from support.load import Load
from support.readers import span_ids
from support.services import wanted
from support.spans import agent, chat, post

JOBS = '[jobs]\nevery = "2s"\n'


@pytest.fixture
def lake(plimsoll):
    """The command on a fresh lake of the S3 server that `deploy/dev/s3` started."""
    bucket, *_ = wanted("s3", "S3_BUCKET", "AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
    plimsoll.lake = f"s3://{bucket}/{fresh('lake')}"
    plimsoll.config(JOBS)
    return plimsoll


def some(server, runs=1):
    """Posts runs of ten spans; how many spans that were."""
    for _ in range(runs):
        root = agent("s3")
        post(server, [root, *(chat(root, 100, 10) for _ in range(9))])
    return 10 * runs


def same_rows(lake, expected):
    """Holds what DuckDB, deltalake and Plimsoll read against the ids that must be there, each once."""
    # What SQL reads is what the last round of jobs has seen.
    lake.run("profile")
    duck, pandas = span_ids(lake.lake)
    assert len(duck) == len(set(duck)) and len(pandas) == len(set(pandas))
    ours = [row["span_id"] for row in lake.sql("SELECT span_id FROM spans")]
    assert sorted(duck) == sorted(pandas) == sorted(ours)
    if isinstance(expected, int):
        assert len(duck) == expected
    else:
        assert expected <= set(duck)


def test_two_servers_on_one_lake(lake):
    """Protects conditional puts between processes: two servers with jobs on one lake, killed in turns under load,
    lose nothing that was acknowledged and store nothing twice."""
    moments = random.Random(4)
    acknowledged = set()
    processes = [lake.beside("one"), lake.beside("two")]
    for each in processes:
        each.config(JOBS)
    with Balance() as books:
        for number in range(4):
            with processes[0].serve() as first, processes[1].serve() as second:
                loads = [Load(books.watch(server), senders=1, pause=0.05) for server in (first, second)]
                time.sleep(moments.uniform(3, 6))
                for server in (first, second)[:: 1 - 2 * (number % 2)]:
                    server.kill()
                for load in loads:
                    load.join()
                    acknowledged |= load.acknowledged
        with processes[0].serve("--stop-seconds", 60) as first, processes[1].serve("--stop-seconds", 60) as second:
            for server in (first, second):
                server.terminate(timeout=120)
                assert "left_in_journal=0" in server.said()
    assert len(acknowledged) > 100
    same_rows(lake, acknowledged)
    runs = lake.one("SELECT count(*) AS runs, sum(model_calls) AS calls FROM runs")
    assert runs["runs"] * 9 == runs["calls"]
    lake.run("check")


@pytest.mark.parametrize("command", (("sql", "SELECT count(*) FROM spans"), ("profile",), ("serve",)))
def test_what_is_wrong_is_said(lake, command):
    """Protects who sets it up: wrong keys and a bucket that is not there are told at once, by name."""
    ports = ("--otlp-grpc", "127.0.0.1:0", "--otlp-http", "127.0.0.1:0", "--web", "127.0.0.1:0")
    line = (*command, *(ports if command == ("serve",) else ()))
    refused = lake.run(*line, env={"AWS_SECRET_ACCESS_KEY": "wrong"}, code=None, timeout=60)
    lake.lake = "s3://no-such-bucket/lake"
    missing = lake.run(*line, code=None, timeout=60)
    for done, word in ((refused, "SignatureDoesNotMatch"), (missing, "no-such-bucket")):
        said = done.stderr.decode()
        assert done.returncode != 0 and word in said, said
        assert len([line for line in said.splitlines() if line.startswith("plimsoll:")]) == 1, said


def test_a_store_that_fails_now_and_then(lake):
    """Protects idempotence: requests that are refused, late, or done without an answer lose and double nothing."""
    faults = Faults(seed=7, busy=0.10, lost=0.05, late=0.02)
    sent = 0
    with (
        proxy(os.environ["AWS_ENDPOINT_URL"], faults) as url,
        Balance() as books,
        lake.serve("--stop-seconds", 60, env={"AWS_ENDPOINT_URL": url}) as server,
    ):
        books.watch(server)
        until_done = time.monotonic() + 20
        while time.monotonic() < until_done:
            sent += some(server, 2)
            time.sleep(0.3)
        server.terminate(timeout=120)
        assert "left_in_journal=0" in server.said()
    print(faults.happened)
    assert min(faults.happened["busy"], faults.happened["lost"]) > 0
    same_rows(lake, sent)


def test_keys_that_expire(lake):
    """Protects against keys that lapse: telemetry is still taken and kept, it is said what is wrong, and all is
    stored once the keys are good again."""
    faults = Faults(seed=1)
    with (
        proxy(os.environ["AWS_ENDPOINT_URL"], faults) as url,
        Balance() as books,
        lake.serve(env={"AWS_ENDPOINT_URL": url}) as server,
    ):
        books.watch(server)
        sent = some(server)
        until(lambda: spans(server)["stored"] == sent, "it is stored")
        faults.denied = True
        sent += some(server)
        until(lambda: server.metric("plimsoll_ingest_flushes_total", outcome="failed") > 0, "a flush failed")
        assert server.get("/healthz")[0] == 200
        faults.denied = False
        until(lambda: spans(server)["stored"] == sent, "it is stored after all")
        assert "ExpiredToken" in server.said() or "credentials" in server.said()
    same_rows(lake, sent)
