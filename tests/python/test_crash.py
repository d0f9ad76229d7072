"""kill -9 in the middle of load: what was acknowledged is there, once."""

import random
import threading
import time

from support.readers import attach, connect
from support.spans import agent, chat, request, send

KILLS = 20
SENDERS = 4
SPANS_A_REQUEST = 10


class Load:
    """Senders that post until the server goes away, and remember what was acknowledged."""

    def __init__(self, server):
        self.server = server
        self.acknowledged, self.unanswered = set(), set()
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self._send, daemon=True) for _ in range(SENDERS)]
        for thread in self.threads:
            thread.start()

    def _send(self):
        while True:
            root = agent("crash")
            spans = [root, *(chat(root, 100, 10) for _ in range(SPANS_A_REQUEST - 1))]
            ids = {span.span_id.hex() for span in spans}
            try:
                answer = send(self.server, request(spans).SerializeToString(), timeout=30)
            except OSError:
                answer = None
            # An answer that was cut off in the middle acknowledges nothing.
            taken = answer is not None and answer.status == 200
            with self.lock:
                (self.acknowledged if taken else self.unanswered).update(ids)
            if answer is None:
                return
            if not taken:
                time.sleep(0.05)

    def join(self):
        """Waits until all senders have seen the server gone."""
        for thread in self.threads:
            thread.join(timeout=60)
            assert not thread.is_alive()


def test_every_acknowledged_span_is_there_once(plimsoll):
    """Protects the guarantee that an OTLP success means durable: 20 kills at random instants, and after
    them no acknowledged span is missing and no span, acknowledged or not, stands twice."""
    moments = random.Random(2026)
    acknowledged, unanswered = set(), set()
    for _ in range(KILLS):
        with plimsoll.serve() as server:
            load = Load(server)
            # From before the first flush to after the second.
            time.sleep(moments.uniform(0.2, 2.0) if moments.random() < 0.7 else moments.uniform(4.5, 6.5))
            server.kill()
            load.join()
        acknowledged |= load.acknowledged
        unanswered |= load.unanswered
    # Long enough for all that twenty crashes left in the journal.
    with plimsoll.serve("--stop-seconds", 180) as server:
        server.terminate(timeout=240)
    assert "left_in_journal=0" in server.said()
    assert len(acknowledged) > KILLS * SPANS_A_REQUEST
    stored = attach(connect(), plimsoll.lake, "spans").execute("SELECT span_id, count(*) FROM spans GROUP BY ALL")
    times = dict(stored.fetchall())
    print(f"{len(acknowledged)} spans acknowledged, {len(times)} stored, {len(unanswered)} unanswered")
    assert not acknowledged - times.keys(), "acknowledged and lost"
    assert {span for span, n in times.items() if n > 1} == set(), "stored twice"
    assert times.keys() <= acknowledged | unanswered, "stored and never sent"
    plimsoll.run("profile")
    runs = plimsoll.one("SELECT count(*) AS runs, sum(model_calls) AS calls FROM runs")
    assert runs["runs"] * (SPANS_A_REQUEST - 1) == runs["calls"], "a request is stored whole or not at all"
    assert runs["runs"] * SPANS_A_REQUEST == len(times)
