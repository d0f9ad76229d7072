"""Senders of spans that remember what was acknowledged to them."""

import threading
import time

from support.spans import agent, chat, request, send

SENDERS = 4
SPANS_A_REQUEST = 10


def run_of_spans(workflow):
    """A run: its root and its calls."""
    root = agent(workflow)
    return [root, *(chat(root, 100, 10) for _ in range(SPANS_A_REQUEST - 1))]


class Load:
    """Senders that post until the server goes away, and remember what was acknowledged."""

    def __init__(self, server, senders=SENDERS, pause=0.0):
        self.server, self.pause = server, pause
        self.acknowledged, self.unanswered = set(), set()
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self._send, daemon=True) for _ in range(senders)]
        for thread in self.threads:
            thread.start()

    def _send(self):
        while True:
            spans = run_of_spans("crash")
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
            time.sleep(self.pause if taken else max(self.pause, 0.05))

    def join(self):
        """Waits until all senders have seen the server gone."""
        for thread in self.threads:
            thread.join(timeout=60)
            assert not thread.is_alive()
