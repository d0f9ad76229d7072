"""SQL over HTTP: the same rows as the command, within limits, and nothing for a browser's pages."""

import json
import urllib.error
import urllib.request

import pyarrow as pa
import pytest

from support.spans import agent, chat, request, send

ARROW = "application/vnd.apache.arrow.stream"


def ask(server, query, kind="application/sql", **headers):
    """Status, headers and body of a query."""
    body = query if isinstance(query, bytes) else query.encode()
    asked = urllib.request.Request(
        f"http://{server.web}/v1/sql", data=body, headers={"Content-Type": kind, **headers}, method="POST"
    )
    try:
        with urllib.request.urlopen(asked, timeout=120) as answer:
            return answer.status, dict(answer.headers), answer.read()
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers), error.read()


@pytest.fixture(scope="module")
def server(binary, tmp_path_factory):
    """A server over a lake with a round of jobs behind it, and small limits."""
    from support.command import Plimsoll

    plimsoll = Plimsoll(binary, tmp_path_factory.mktemp("query"))
    with plimsoll.serve() as first:
        root = agent("query")
        send(first, request([root, *(chat(root, 100, 10) for _ in range(3))]).SerializeToString())
    plimsoll.run("profile")
    plimsoll.config('[query]\nmax_rows = 1000\ntimeout = "5s"\nmemory_bytes = 67108864\n')
    with plimsoll.serve() as server:
        yield server


def test_json_and_arrow(server):
    """Protects the two encodings, and that an answer says which round it was read from."""
    status, headers, body = ask(server, "SELECT model_calls, input_tokens, cost_usd FROM runs")
    assert (status, json.loads(body)) == (200, [{"model_calls": 3, "input_tokens": 300, "cost_usd": 0.00135}])
    assert headers["plimsoll-lake-version"] == "1"
    status, _, body = ask(
        server, json.dumps({"query": "SELECT input_tokens FROM runs"}), "application/json", Accept=ARROW
    )
    assert status == 200
    assert pa.ipc.open_stream(body).read_all().to_pydict() == {"input_tokens": [300]}
    assert ask(server, "SELECT 1 WHERE false")[2] == b"[]"


@pytest.mark.parametrize(
    ("query", "status", "word"),
    [
        ("SELECT nothing FROM runs", 400, "nothing"),
        ("DROP TABLE runs", 400, "DDL"),
        ("INSERT INTO runs SELECT * FROM runs", 400, "DML"),
        ("COPY runs TO '/tmp/copied.csv'", 400, "DML"),
        ("SELECT * FROM generate_series(1, 5000)", 400, "LIMIT"),
        ("SELECT count(*) FROM generate_series(1, 100000000000)", 504, "plimsoll sql"),
        ("SELECT array_agg(value) FROM generate_series(1, 30000000)", 507, "memory"),
        (b"\xff\xfe", 400, "UTF-8"),
    ],
)
def test_a_query_that_is_not_answered(server, query, status, word):
    """Protects the limits and that nothing can be changed: each refusal says what to do."""
    found, _, body = ask(server, query)
    assert found == status, body
    assert word in json.loads(body)["error"], body
    assert ask(server, "SELECT 1")[0] == 200, "the next query is answered"


def test_pages_of_a_browser_get_nothing(server):
    """Protects the lake from web pages: of another content type, or under a name pointed at loopback."""
    assert ask(server, "SELECT 1", "text/plain")[0] == 415
    assert ask(server, "SELECT 1", Host="rebound.example:4320")[0] == 403
