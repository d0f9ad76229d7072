"""A proxy before an S3 server that fails as networks and object stores do: 503, no answer, a lost answer, 403.

Requests are handed on with the Host header that they came with, which is what their signature covers.
"""

import http.client
import random
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

DENIED = b"<Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>"
BUSY = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"


class Faults:
    """What goes wrong: shares of requests, by a seed; `denied` refuses all."""

    def __init__(self, seed, busy=0.0, lost=0.0, late=0.0):
        self.random = random.Random(seed)
        self.busy, self.lost, self.late = busy, lost, late
        self.denied = False
        self.lock = threading.Lock()
        self.happened = dict.fromkeys(("fine", "busy", "lost", "late", "denied"), 0)

    def next(self):
        """What becomes of the next request."""
        with self.lock:
            dice = self.random.random()
            if self.denied:
                kind = "denied"
            elif dice < self.busy:
                kind = "busy"
            elif dice < self.busy + self.lost:
                kind = "lost"
            elif dice < self.busy + self.lost + self.late:
                kind = "late"
            else:
                kind = "fine"
            self.happened[kind] += 1
            return kind


@contextmanager
def proxy(server, faults):
    """Runs the proxy before `server` (a URL); gives its own URL."""
    target = urlsplit(server).netloc

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            """Says nothing."""

        def _answer(self, status, headers, body):
            self.send_response(status)
            for name, text in headers:
                if name.lower() not in ("transfer-encoding", "connection", "date", "server", "content-length"):
                    self.send_header(name, text)
            length = dict(headers).get("Content-Length", len(body)) if self.command == "HEAD" else len(body)
            self.send_header("Content-Length", str(length))
            self.end_headers()
            self.wfile.write(body)

        def _pass(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            kind = faults.next()
            if kind == "busy":
                return self._answer(503, [], BUSY)
            if kind == "denied":
                return self._answer(403, [], DENIED)
            if kind == "late":
                threading.Event().wait(1.0)
            onward = http.client.HTTPConnection(target, timeout=60)
            try:
                onward.request(self.command, self.path, body, dict(self.headers))
                answer = onward.getresponse()
                told = answer.read()
                if kind == "lost":
                    # Done, but nobody hears of it.
                    self.close_connection = True
                    return None
                return self._answer(answer.status, answer.getheaders(), told)
            finally:
                onward.close()

        do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _pass

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listener.daemon_threads = True
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.server_address[1]}"
    finally:
        listener.shutdown()
        listener.server_close()
