"""Captures of real clients with the provider's own log as truth, and what Plimsoll makes of them.

A capture is a folder: `raw/` has the bodies as they were sent, `truth.json` what was billed, run by run. Which
fields its telemetry can tell stands in `exact` of a run, or for the shared captures in one `DETERMINABLE.json`.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

# Says which run a span belongs to, where its trace doesn't.
RUN_ATTRIBUTE = "app.run"
# Columns of `runs`, and where the truth stands.
TRUTH = {
    "model_calls": lambda run: run["model_calls_ok"],
    "model_attempts": lambda run: run["http_requests"] - run["embedding_calls_ok"],
    "throttled_attempts": lambda run: run["status_429"],
    "tool_calls": lambda run: run["tool_executions"],
    "input_tokens": lambda run: run["tokens_generation"]["input_total"],
    "input_uncached": lambda run: run["tokens_generation"]["input_uncached"],
    "cache_read": lambda run: run["tokens_generation"]["cached_input"],
    "cache_write": lambda run: run["tokens_generation"]["cache_write"],
    "output_tokens": lambda run: run["tokens_generation"]["output_total"],
    "reasoning_tokens": lambda run: run["tokens_generation"]["reasoning"],
    "embedding_calls": lambda run: run["embedding_calls_ok"],
    "embedding_tokens": lambda run: run["tokens_embedding"]["input_total"],
}
EMBEDDINGS = {"embedding_calls", "embedding_tokens"}
# A reason of quality, and what the client then did not send.
LACKS = {
    "usage_missing": "usage of some calls",
    "zero_usage": "usage of some calls (it says zero)",
    "usage_estimated": "usage of some calls (it estimates)",
    "usage_aggregate": "single calls",
    "attempts_unknown": "its library's retries",
    "attempt_detail_missing": "what resent requests were answered",
    "tools_not_traced": "tool executions",
    "calls_not_traced": "its model calls",
    "misreported": "some counts (it sends wrong ones)",
}


@dataclass
class Run:
    """A run of a capture: what is true of it, and what was made of it."""

    truth: dict
    exact: set
    reason: str = ""
    rows: list = field(default_factory=list)

    @property
    def quality(self):
        """Codes of its rows."""
        return {code for row in self.rows for code in row["quality"] or []}

    def got(self, column):
        """A column over the run's rows; null where any is."""
        values = [row[column] for row in self.rows]
        return None if not values or None in values else sum(values)

    def uninstrumented(self, column):
        """Whether calls that would count here had no span at all, so that nothing could know."""
        if column in EMBEDDINGS:
            return self.got("embedding_calls") in (None, 0) and TRUTH["embedding_calls"](self.truth) > 0
        if column == "tool_calls":
            return "tools_not_traced" in self.quality
        calls = self.got("model_calls")
        return "not instrumented" in self.reason or (calls is not None and calls < TRUTH["model_calls"](self.truth))

    def verdict(self, column):
        """right, null, marked, uninstrumented or wrong."""
        got, wanted = self.got(column), TRUTH[column](self.truth)
        if got == wanted:
            return "right"
        if got is None:
            return "null"
        if self.uninstrumented(column):
            return "uninstrumented"
        return "marked" if "misreported" in self.quality else "wrong"


@dataclass
class Capture:
    """A capture."""

    name: str
    folder: Path
    runs: list
    clients: list = field(default_factory=list)

    @property
    def bodies(self):
        """Its traces and logs, in the order in which they were sent."""
        bodies = sorted((self.folder / "raw").iterdir())
        return [body for body in bodies if signal(body) in ("traces", "logs")]

    def sent(self, body):
        """What a body sends. Where a client makes a trace of every call, its spans say which run they belong to,
        as an application would have them say it, and `[[run]]` of plimsoll.toml reads it."""
        sent = body.read_bytes()
        runs = {trace: str(run.truth["run"]) for run in self.runs for trace in run.truth["trace_ids"]}
        if len(runs) == len(self.runs) or signal(body) != "traces":
            return sent
        if body.suffix == ".json":
            request = json.loads(sent)
            scopes = (scope for resource in request["resourceSpans"] for scope in resource["scopeSpans"])
            for span in (span for scope in scopes for span in scope["spans"]):
                if run := runs.get(span["traceId"]):
                    said = {"key": RUN_ATTRIBUTE, "value": {"stringValue": f"{self.name}/{run}"}}
                    span.setdefault("attributes", []).append(said)
            return json.dumps(request).encode()
        request = ExportTraceServiceRequest.FromString(sent)
        for resource in request.resource_spans:
            for scope in resource.scope_spans:
                for span in scope.spans:
                    if run := runs.get(span.trace_id.hex()):
                        span.attributes.add(key=RUN_ATTRIBUTE).value.string_value = f"{self.name}/{run}"
        return request.SerializeToString()

    @property
    def traces(self):
        """Ids of all its traces."""
        return {trace for run in self.runs for trace in run.truth["trace_ids"]}


def signal(body):
    """traces, logs or metrics, by the name of a body."""
    return body.name.split(".")[1] if body.name.count(".") == 2 else None


def read(folder, determinable=None):
    """The captures below a folder."""
    captures = []
    for truth in sorted(folder.glob("*/truth.json")):
        name = truth.parent.name
        told = (determinable or {}).get(name, {})
        runs = []
        for run in json.loads(truth.read_text())["runs"]:
            of = told.get(str(run["run"]), run)
            runs.append(Run(run, set(of.get("exact", [])), of.get("reason") or ""))
        captures.append(Capture(name, truth.parent, runs))
    return captures


def fill(captures, plimsoll):
    """Gives each run its rows, and each capture its clients, out of a lake that holds them all."""
    rows = {row["run_id"]: row for row in plimsoll.sql("SELECT * FROM runs")}
    # A run may join traces under an id of its own; its calls tell which.
    joined = plimsoll.sql(
        "SELECT DISTINCT s.trace_id, c.run_id FROM spans s JOIN ("
        " SELECT run_id, span_id FROM model_calls UNION ALL SELECT run_id, span_id FROM tool_calls"
        ") c ON c.span_id = s.span_id"
    )
    runs_of = {}
    for pair in joined:
        runs_of.setdefault(pair["trace_id"], set()).add(pair["run_id"])
    clients = plimsoll.sql(
        "SELECT DISTINCT trace_id, scope, scope_version FROM spans"
        " WHERE kind IN ('model_call', 'embedding') AND scope IS NOT NULL"
    )
    for capture in captures:
        for run in capture.runs:
            ids = {id for trace in run.truth["trace_ids"] for id in runs_of.get(trace, {trace})}
            run.rows = [rows[id] for id in sorted(ids) if id in rows]
        scopes = {
            " ".join(filter(None, (row["scope"], row["scope_version"])))
            for row in clients
            if row["trace_id"] in capture.traces
        }
        capture.clients = sorted(scopes)
