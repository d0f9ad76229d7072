"""kill -9 in the middle of load: what was acknowledged is there, once."""

import pytest

from support.crashes import Crashes
from support.load import SPANS_A_REQUEST

KILLS = 20


@pytest.mark.timeout(600)
def test_every_acknowledged_span_is_there_once(plimsoll):
    """Protects the guarantee that an OTLP success means durable: 20 kills at random instants while jobs run and
    files are compacted, and after them no acknowledged span is missing and no span, acknowledged or not, stands
    twice."""
    crashes = Crashes(plimsoll, seed=2026)
    crashes.run(KILLS)
    figures = crashes.verify()
    print(figures)
    assert figures["spans acknowledged"] > KILLS * SPANS_A_REQUEST
    assert figures["compactions"] > 0
