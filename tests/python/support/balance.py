"""Watches the books while a test runs: received = stored + quarantined + rejected + forwarded + in flight."""

import re
import threading

INTERVAL_S = 0.2
SPANS = re.compile(r'plimsoll_ingest_spans\{[^}]*state="(\w+)"[^}]*\} (\S+)')


def spans(server):
    """Spans by what became of them, all of one instant."""
    return {state: int(float(number)) for state, number in SPANS.findall(server.get("/metrics")[1])}


def off(state):
    """What is missing in the books, 0 where they are right."""
    return state.get("received", 0) - sum(number for name, number in state.items() if name != "received")


class Balance:
    """Samples servers that come and go; a server that does not answer says nothing."""

    def __init__(self):
        self.servers, self.samples, self.wrong = [], 0, []
        # What was read last of each server that runs.
        self.last = {}
        self.peak_bytes = 0
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, kind, *_):
        self.stopped.set()
        self.thread.join()
        if kind is None:
            assert self.samples > 0, "nothing was sampled"
            assert not self.wrong, f"{len(self.wrong)} of {self.samples} samples do not add up: {self.wrong[:3]}"

    def watch(self, server):
        """Samples this server too, from now on."""
        self.servers.append(server)
        return server

    def _watch(self):
        while not self.stopped.wait(INTERVAL_S):
            for server in list(self.servers):
                try:
                    state = spans(server)
                    self.peak_bytes = max(self.peak_bytes, server.resident_peak_bytes())
                except (OSError, TypeError):
                    # Killed, or just ending.
                    if server.process.poll() is not None:
                        self.servers.remove(server)
                        self.last.pop(server, None)
                    continue
                if state:
                    self.samples += 1
                    self.last[server] = state
                    if off(state):
                        self.wrong.append(state)
