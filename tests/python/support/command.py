"""The command under test, run as a user runs it: from outside, with a clean environment.

Every process started here is bounded in time and ended with the test; ports are always free ones on
loopback, which the server itself picks and says.
"""

import json
import os
import re
import signal
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

# Generous for an unoptimised build on a busy machine; a hang is what it is there to end.
PATIENCE_S = 240
# A free port on loopback, which the server picks.
FREE = "127.0.0.1:0"
# What a server says once its ports are bound.
BOUND = re.compile(r'\b(grpc|http|web)="?(127\.0\.0\.1:\d+)')


def environment(extra=None):
    """This process's environment without what would steer Plimsoll or an OpenTelemetry SDK."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PLIMSOLL_", "OTEL_"))}
    return {**kept, "NO_COLOR": "1", **(extra or {})}


class Plimsoll:
    """The binary, with a folder of its own that holds its lake."""

    def __init__(self, binary, folder):
        self.binary = str(binary)
        self.folder = Path(folder)
        self.lake = self.folder / "lake"

    def beside(self, name):
        """The same command on the same lake, with a folder, and so a journal, of its own."""
        folder = self.folder / name
        folder.mkdir()
        other = Plimsoll(self.binary, folder)
        other.lake = self.lake
        return other

    def run(self, *arguments, code=0, input=None, lake=True, env=None, timeout=PATIENCE_S):
        """Runs a command to its end; `code` is the exit code that is right, None for any."""
        line = [self.binary, *(["--lake", str(self.lake)] if lake else []), *map(str, arguments)]
        done = subprocess.run(
            line, cwd=self.folder, env=environment(env), input=input, capture_output=True, timeout=timeout, check=False
        )
        said = done.stderr.decode(errors="replace")
        assert code is None or done.returncode == code, f"{line} ended with {done.returncode}, not {code}:\n{said}"
        return done

    def json(self, *arguments, **options):
        """The JSON that a command prints."""
        return json.loads(self.run("--format", "json", *arguments, **options).stdout)

    def sql(self, query, **options):
        """The rows of a query, as dicts."""
        return self.json("sql", query, **options)

    def one(self, query):
        """The only row of a query."""
        rows = self.sql(query)
        assert len(rows) == 1, rows
        return rows[0]

    def config(self, text):
        """Writes ./plimsoll.toml, which every later command reads."""
        (self.folder / "plimsoll.toml").write_text(text)

    @contextmanager
    def serve(self, *arguments, env=None, grpc=FREE):
        """A running server; ended with SIGTERM, which must bring everything into the lake."""
        server = Server(self, arguments, env, grpc)
        try:
            server.wait_until_ready()
            yield server
            if server.process.poll() is None:
                server.terminate()
        finally:
            server.end()


class Server:
    """A `plimsoll serve` on free loopback ports."""

    def __init__(self, plimsoll, arguments=(), env=None, grpc=FREE):
        self.log = plimsoll.folder / f"serve-{time.monotonic_ns()}.log"
        line = [plimsoll.binary, "--lake", str(plimsoll.lake), "serve"]
        line += ["--otlp-grpc", grpc, "--otlp-http", FREE, "--web", FREE, *map(str, arguments)]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                line, cwd=plimsoll.folder, env=environment(env), stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self.grpc = self.http = self.web = None
        # A process that does not receive has no other port than the web's.
        self.ports = 3 if "--roles" not in line or "receive" in line[line.index("--roles") + 1] else 1

    def said(self):
        """Everything it has logged."""
        return self.log.read_text(errors="replace")

    def wait_until_ready(self):
        """Waits until the ports are bound and telemetry is taken."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            assert self.process.poll() is None, f"serve ended with {self.process.returncode}:\n{self.said()}"
            bound = dict(BOUND.findall(self.said()))
            if len(bound) == self.ports:
                self.grpc, self.http, self.web = bound.get("grpc"), bound.get("http"), bound["web"]
                if self.get("/readyz")[0] == 200:
                    return
            time.sleep(0.05)
        raise AssertionError(f"serve was not ready within {PATIENCE_S} s:\n{self.said()}")

    def get(self, path):
        """Status and text of a page on the web port."""
        try:
            with urllib.request.urlopen(f"http://{self.web}{path}", timeout=30) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def metric(self, name, **labels):
        """One value of /metrics; 0 where it has not been counted yet."""
        wanted = {f'{key}="{value}"' for key, value in labels.items()}
        for line in self.get("/metrics")[1].splitlines():
            match = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line)
            if match and match[1] == name and wanted <= set((match[2] or "").split(",")):
                return float(match[3])
        return 0.0

    def partitions(self):
        """How many partitions of Kafka it reads. (The group's own description is not asked for: the client of the tests
        was seen to crash on it, and to ask the wrong broker for good, once brokers come and go.)"""
        return self.get("/metrics")[1].count("plimsoll_ingest_kafka_position{")

    def resident_peak_bytes(self):
        """The most memory that the process has held."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024

    def cpu_seconds(self):
        """Processor time that the process has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(") ")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def terminate(self, timeout=60):
        """SIGTERM, and the clean end that must follow."""
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout)
        assert code == 0, f"serve ended with {code}:\n{self.said()}"

    def kill(self):
        """kill -9."""
        self.process.kill()
        self.process.wait(timeout=30)

    def end(self):
        """Whatever happened, it does not outlive its test."""
        if self.process.poll() is None:
            self.kill()
