"""A real Kafka before `serve`: what is on the topics is in the lake, once, whatever comes between."""

import base64
import gzip
import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
import zstandard
from confluent_kafka import Producer
from google.protobuf.json_format import MessageToDict

from support import static_member
from support.balance import Balance, spans
from support.kafka import Kafka, fresh, until
from support.readers import attach, connect
from support.services import script, wanted
from support.spans import agent, chat, post, request, span

# A stored span has waited for the next flush of a busy debug build.
STORED_S = 60


@pytest.fixture(scope="module")
def kafka():
    """The brokers that `deploy/dev/kafka` started."""
    return Kafka(*wanted("kafka", "KAFKA_BOOTSTRAP"))


def config(kafka, *topics, properties=None, sections="", **keys):
    """A `plimsoll.toml` that reads these topics in a group of its own."""
    lines = ["[kafka]", f"topics = {json.dumps(topics)}"]
    told = {"brokers": kafka.bootstrap, "group": fresh("plimsoll"), **keys}
    lines += [f"{key} = {json.dumps(each)}" for key, each in told.items()]
    lines += [
        "[kafka.properties]",
        *(f"{json.dumps(key)} = {json.dumps(each)}" for key, each in (properties or {}).items()),
    ]
    return "\n".join(lines) + "\n" + sections


def body(*of):
    """An export request of these spans, as protobuf."""
    return request(of).SerializeToString()


def one(name="kafka"):
    """An export request of one span."""
    return body(span(name))


def stored(server, number):
    """Waits until so many spans are in the lake."""
    until(lambda: server.metric("plimsoll_ingest_spans", state="stored") >= number, f"{number} spans stored", STORED_S)


def count(lake, table="spans"):
    """Rows and distinct spans of a table, as DuckDB sees them."""
    duck = attach(connect(), lake, table)
    return duck.execute(f"SELECT count(*), count(DISTINCT trace_id || span_id) FROM {table}").fetchone()


def letters(plimsoll):
    """The dead letters that lie beside the journal."""
    folder = Path(plimsoll.lake) / "journal" / "dead"
    return [json.loads(file.read_text()) for file in sorted(folder.glob("*.json"))]


def test_poison_between_good_messages(kafka, plimsoll):
    """Protects the neighbours of a bad message (T32): what is good is stored, what is not is a dead letter with
    where it came from and why, the group gets past it, and nothing is read over and over."""
    topic = kafka.create(fresh("poison"))
    group = fresh("plimsoll")
    plimsoll.config(config(kafka, topic, group=group, sections="[otlp]\nmax_message_bytes = 200_000\n"))
    kafka.send(topic, one(), b"\xff\xfe\xfd", one())
    kafka.send(topic, b"")
    kafka.send(topic, one(), headers={"content-encoding": "br"})
    kafka.send(topic, b'{"resourceMetrics": [{"scopeMetrics": []}]}')
    kafka.send(topic, gzip.compress(body(span("bomb", note="x" * 300_000))), headers={"content-encoding": "gzip"})
    kafka.send(topic, one(), headers={"content-type": "application/x-protobuf"})
    with Balance() as books, plimsoll.serve() as server:
        books.watch(server)
        stored(server, 3)
        until(lambda: server.metric("plimsoll_ingest_dead_letters_total") == 5, "five dead letters", STORED_S)
        until(lambda: kafka.committed(group, topic) == {0: 8}, "the group is past all of them", STORED_S)
        until(lambda: server.metric("plimsoll_ingest_kafka_lag", topic=topic) == 0, "no lag", STORED_S)
        before = server.cpu_seconds()
        time.sleep(3)
        assert server.cpu_seconds() - before < 1.5, "it reads the same messages again and again"
        assert server.get("/readyz")[0] == 200
    assert count(plimsoll.lake) == (3, 3)
    found = letters(plimsoll)
    places = [(letter["from"]["kafka"]["topic"], letter["from"]["kafka"]["offset"]) for letter in found]
    assert sorted(places) == [(topic, offset) for offset in (1, 3, 4, 5, 6)]
    assert all(letter["reason"] for letter in found)
    by_offset = {letter["from"]["kafka"]["offset"]: letter for letter in found}
    assert base64.b64decode(by_offset[1]["body"]) == b"\xff\xfe\xfd"
    assert "br" in by_offset[4]["reason"]
    folder = Path(plimsoll.lake) / "journal" / "dead"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}


def test_a_dead_letter_is_replayed(kafka, plimsoll):
    """Protects what was too large for the settings of the day: after a fix `plimsoll ingest` stores it, once."""
    topic = kafka.create(fresh("large"))
    plimsoll.config(config(kafka, topic, sections="[otlp]\nmax_message_bytes = 1_000\n"))
    kafka.send(topic, body(*(span("large") for _ in range(50))))
    with plimsoll.serve() as server:
        until(lambda: server.metric("plimsoll_ingest_dead_letters_total") == 1, "a dead letter", STORED_S)
    (letter,) = (Path(plimsoll.lake) / "journal" / "dead").glob("*.json")
    plimsoll.config("")
    for _ in range(2):
        plimsoll.run("ingest", letter)
    assert count(plimsoll.lake) == (50, 50)


def test_dead_letters_go_to_a_topic(kafka, plimsoll):
    """Protects a dead-letter topic: the message as it came, and where and why in headers."""
    topic, dead = kafka.create(fresh("poison")), kafka.create(fresh("dead"))
    plimsoll.config(config(kafka, topic, dead_letter=dead))
    kafka.send(topic, b"junk", one(), headers={"mine": b"1"}, key=b"k")
    with plimsoll.serve() as server:
        stored(server, 1)
        until(lambda: sum(kafka.ends(dead).values()) == 1, "a dead letter", STORED_S)
    (message,) = kafka.messages(dead)
    headers = dict(message.headers())
    assert (message.value(), message.key(), headers["mine"]) == (b"junk", b"k", b"1")
    assert headers["plimsoll.dead_letter.topic"] == topic.encode()
    assert (headers["plimsoll.dead_letter.partition"], headers["plimsoll.dead_letter.offset"]) == (b"0", b"0")
    assert headers["plimsoll.dead_letter.reason"] and headers["plimsoll.dead_letter.received"]


def test_topics_come_and_go(kafka, plimsoll):
    """Protects names and patterns: a topic that appears later is read from its start within seconds, and one that
    was deleted and made again starts at its first message, not where the old one was left."""
    named, stem = fresh("named"), fresh("pattern")
    plimsoll.config(config(kafka, named, f"^{stem}-.*"))
    with Balance() as books, plimsoll.serve() as server:
        books.watch(server)
        assert server.get("/readyz")[0] == 200
        for topic in (named, f"{stem}-a", f"{stem}-b"):
            kafka.create(topic, 2)
            kafka.send(topic, one(), partition=1)
        stored(server, 3)
        kafka.send(named, one(), one(), partition=1)
        stored(server, 5)
        kafka.delete(named)
        kafka.create(named, 2)
        kafka.send(named, one(), partition=1)
        stored(server, 6)
    assert count(plimsoll.lake) == (6, 6)
    assert not letters(plimsoll)


def test_encodings_and_compressions(kafka, plimsoll):
    """Protects what producers send: protobuf and JSON with and without a header that says so, bodies compressed
    by their sender, records compressed by the client, a span close to the broker's limit."""
    topic = kafka.create(fresh("encodings"))
    plimsoll.config(config(kafka, topic))
    told = MessageToDict(request([span("json")]), use_integers_for_enums=True)
    # Ids in OTLP's JSON are hex, where protobuf's own JSON has base64.
    each = told["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    for name in ("traceId", "spanId"):
        each[name] = base64.b64decode(each[name]).hex()
    as_json = json.dumps(told).encode()
    other = json.dumps(told).replace(each["spanId"], "ffffffffffffffff").encode()
    kafka.send(topic, one())
    kafka.send(topic, as_json)
    kafka.send(topic, other, headers={"content-type": "application/json"})
    kafka.send(topic, gzip.compress(one()), headers={"content-encoding": "gzip"})
    kafka.send(
        topic,
        zstandard.compress(one()),
        headers={"content-encoding": "zstd", "content-type": "application/x-protobuf", "plimsoll.signal": "traces"},
    )
    kafka.send(topic, body(span("near the limit", note="y" * 900_000)))
    for codec in ("gzip", "snappy", "lz4", "zstd"):
        producer = Producer({"bootstrap.servers": kafka.bootstrap, "compression.type": codec})
        producer.produce(topic, body(*(span(codec) for _ in range(20))))
        assert producer.flush(30) == 0
    with plimsoll.serve() as server:
        stored(server, 86)
    assert count(plimsoll.lake) == (86, 86)
    assert not letters(plimsoll)


def test_tls_and_a_password(kafka, plimsoll):
    """Protects librdkafka's settings, which pass through: TLS with an authority of one's own, a password from the
    environment; a wrong one is said, stops nothing and loses nothing."""
    brokers, ca, user, password = wanted("kafka", "KAFKA_SASL_SSL", "KAFKA_CA", "KAFKA_USER", "KAFKA_PASSWORD")
    topic = kafka.create(fresh("secure"))
    kafka.send(topic, one())
    properties = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "ssl.ca.location": ca,
        "sasl.username": user,
        "sasl.password": "${SUITE_PASSWORD}",
    }
    plimsoll.config(config(kafka, topic, brokers=brokers, properties=properties))
    with plimsoll.serve(env={"SUITE_PASSWORD": "wrong"}) as server:
        until(lambda: "uthentication" in server.said(), "the log says what is wrong")
        assert server.get("/healthz")[0] == 200
        assert password not in server.said()
    with plimsoll.serve(env={"SUITE_PASSWORD": password}) as server:
        stored(server, 1)
    assert count(plimsoll.lake) == (1, 1)


def test_nothing_is_lost_or_doubled_by_kills(kafka, plimsoll):
    """Protects offsets that are committed with the rows (T31): a reader killed before its flush reads the message
    again, one killed after it does not."""
    topic = kafka.create(fresh("kill"))
    plimsoll.config(config(kafka, topic))
    kafka.send(topic, one())
    with plimsoll.serve() as server:
        until(lambda: server.metric("plimsoll_ingest_spans", state="received") == 1, "it is read", STORED_S, 0.02)
        server.kill()
    with plimsoll.serve() as server:
        stored(server, 1)
        server.kill()
    kafka.send(topic, one())
    with plimsoll.serve() as server:
        stored(server, 1)
        assert spans(server)["received"] == 1, "what is stored is not read again"
    assert count(plimsoll.lake) == (2, 2)


def test_a_hundred_thousand_messages(kafka, plimsoll):
    """Protects back-pressure (T31): a backlog of small messages passes in bounded memory, all of it, once, and
    the books are right at every moment."""
    topic = kafka.create(fresh("many"), 3)
    plimsoll.config(config(kafka, topic))
    for _ in range(10):
        kafka.send(topic, *(one() for _ in range(10_000)))
    with Balance() as books, plimsoll.serve() as server:
        books.watch(server)
        until(lambda: server.metric("plimsoll_ingest_spans", state="stored") >= 100_000, "all are stored", 200)
        assert books.peak_bytes < 512 << 20
    assert count(plimsoll.lake) == (100_000, 100_000)


def test_partitions_of_a_killed_reader_move(kafka, plimsoll):
    """Protects the share of a reader that dies: the other one has its partitions within seconds, and no span is
    missing or twice; nor when it comes back and takes some again."""
    topic = kafka.create(fresh("shared"), 4)
    group = fresh("plimsoll")
    readers = [plimsoll.beside("one"), plimsoll.beside("two")]
    for each in readers:
        each.config(config(kafka, topic, group=group, sections='[journal]\nfolder = "journal"\n'))
    sent = 0

    def send_some():
        nonlocal sent
        for partition in range(4):
            kafka.send(topic, *(one() for _ in range(5)), partition=partition)
            sent += 5

    with Balance() as books, readers[0].serve() as first:
        books.watch(first)
        with readers[1].serve() as second:
            books.watch(second)
            until(lambda: first.partitions() == second.partitions() == 2, "each has two partitions")
            send_some()
            until(
                lambda: sum(each.metric("plimsoll_ingest_spans", state="stored") for each in (first, second)) >= 20,
                "all are stored",
                STORED_S,
            )
            send_some()
            second.kill()
            killed = time.monotonic()
            until(lambda: first.partitions() == 4, "the other has all four", 30)
            moved = time.monotonic() - killed
        send_some()
        print(f"the partitions of a killed reader were with the other after {moved:.1f} s")
        with readers[1].serve() as second:
            books.watch(second)
            until(lambda: first.partitions() == second.partitions() == 2, "each has two again")
            send_some()
            until(lambda: sum(kafka.committed(group, topic).values()) == sent, "the group is at the end", STORED_S)
    assert count(plimsoll.lake) == (sent, sent)


def test_partitions_that_a_group_lost_sight_of_are_read(kafka, plimsoll):
    """Protects against a hole in the group's own protocol: a member that is told to let partitions go, dies, and comes
    back under its name before anyone else has them. The group then counts as settled and nobody reads them; here
    `serve` notices, and has the group divide them anew."""
    topic, group = kafka.create(fresh("lost"), 6), fresh("plimsoll")
    command = [sys.executable, str(Path(static_member.__file__)), kafka.bootstrap, topic, group, "other"]
    plimsoll.config(config(kafka, topic, group=group))
    with subprocess.Popen([*command, "dies"], stdout=subprocess.PIPE, text=True) as dying:
        assert dying.stdout.readline() == "6\n"
        with plimsoll.serve() as server:
            assert dying.wait(60) == 9
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
                try:
                    assert other.stdout.readline() == "3\n"
                    # Longer than any session: by itself nothing changes.
                    time.sleep(10)
                    assert server.partitions() == 0
                    until(lambda: server.partitions() == 3, "the partitions that nobody read are read", 120)
                    for number in range(6):
                        kafka.send(topic, one(), partition=number)
                    stored(server, 3)
                    assert server.get("/readyz")[0] == 200
                finally:
                    other.kill()


def test_the_brokers_go_away_and_come_back(kafka, plimsoll):
    """Protects against an outage: `serve` lives through it, says so, and goes on by itself when they are back."""
    topic = kafka.create(fresh("outage"))
    group = fresh("plimsoll")
    plimsoll.config(config(kafka, topic, group=group))
    nodes = range(1, len(kafka.bootstrap.split(",")) + 1)
    with Balance() as books, plimsoll.serve() as server:
        books.watch(server)
        kafka.send(topic, one())
        stored(server, 1)
        for node in nodes:
            script("kafka", "kill", node)
        until(lambda: server.metric("plimsoll_ingest_kafka_connected") == 0, "it is said", 60)
        assert server.get("/healthz")[0] == 200
        script("kafka", "up")
        kafka.send(topic, one())
        stored(server, 2)
        until(lambda: server.metric("plimsoll_ingest_kafka_connected") == 1, "it is said", 60)
        until(lambda: kafka.committed(group, topic) == {0: 2}, "the group is at the end", STORED_S)
    assert count(plimsoll.lake) == (2, 2)


def test_kafka_as_the_journal(kafka, plimsoll):
    """Protects receivers without a disk: what they acknowledged is on the topic, so killing one loses nothing,
    and any number of writers share it; a request over the broker's limit is split."""
    topic = kafka.create(fresh("journal"), 4)
    group = fresh("plimsoll")
    text = config(kafka, group=group, sections=f'[journal]\nfolder = "journal"\ntopic = "{topic}"\n')
    receiver, *writers = [plimsoll.beside(name) for name in ("receiver", "writer-1", "writer-2")]
    for each in (receiver, *writers):
        each.config(text)
    sent = 0

    def send_some(server):
        nonlocal sent
        for _ in range(10):
            root = agent("journal")
            post(server, [root, *(chat(root, 100, 10) for _ in range(9))])
            sent += 10

    with Balance() as books:
        # Nobody writes yet: the topic keeps what was acknowledged.
        with receiver.serve("--roles", "receive") as server:
            books.watch(server)
            send_some(server)
            server.kill()
        with (
            writers[0].serve("--roles", "write") as first,
            writers[1].serve("--roles", "write") as second,
            receiver.serve("--roles", "receive") as server,
        ):
            for each in (first, second, server):
                books.watch(each)
            send_some(server)
            post(server, [span("large", note="z" * 1000) for _ in range(2000)])
            sent += 2000
            first.kill()
            send_some(server)
            until(
                lambda: sum(kafka.committed(group, topic).values()) >= sum(kafka.ends(topic).values()),
                "the writers are at the end",
                STORED_S,
            )
            assert spans(server)["forwarded"] == sent - 100
    assert count(plimsoll.lake) == (sent, sent)
    assert set(kafka.spans(topic).values()) == {1}
    assert not os.path.exists(receiver.folder / "journal")
