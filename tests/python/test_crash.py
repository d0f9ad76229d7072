"""kill -9 in the middle of load: what was acknowledged is there, once."""

import random
import time

from support.load import SPANS_A_REQUEST, Load
from support.readers import attach, connect

KILLS = 20


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
