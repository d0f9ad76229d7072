"""Recorded traces of agent frameworks: what comes out of each, read by eye once."""

import json
import re
from pathlib import Path

import pytest

from support.framework_traces import body

EXPLAINED = Path(__file__).parent / "explained"
LINE = re.compile(r"(\.toml):\d+")
# Calls, tool executions, input and output tokens; null where the client tells no usage of some call.
# What a tracing back end estimated is not here: no client sent it.
KNOWN = {
    "langfuse_framework_traces/agno-2025-06-11": (2, 1, 163 + 663, 20 + 225),
    "langfuse_framework_traces/beeai-2025-08-01": (3, 1, None, None),
    "langfuse_framework_traces/google-adk-2025-08-28": (2, 1, 28 + 39, 3 + 6),
    "langfuse_framework_traces/google-vertex-tools-langchain-2025-09-19": (1, None, 1200, 15),
    "langfuse_framework_traces/langgraph-2025-08-22": (2, None, 60 + 108, 15 + 51),
    "langfuse_framework_traces/microsoft-agent-2025-10-14": (2, 1, None, None),
    "langfuse_framework_traces/openai-agents-2025-09-30": (2, 1, 55 + 85, 15 + 29),
    "langfuse_framework_traces/openai-assistants-2024-05-29": (1, None, 49, 40),
    "langfuse_framework_traces/pydantic-ai-tools-2025-12-04": (4, 3, 265 + 417 + 502 + 131, 73 + 53 + 14 + 69),
    "any_agent_traces/AGNO_trace": (3, 2, 395 + 483 + 518, 16 + 14 + 44),
    "any_agent_traces/GOOGLE_trace": (3, 3, 672 + 770 + 809, 16 + 14 + 56),
    "any_agent_traces/LANGCHAIN_trace": (4, 2, 245 + 331 + 366 + 320, 16 + 14 + 33 + 62),
    "any_agent_traces/LLAMA_INDEX_trace": (5, 3, 197 + 262 + 285 + 403 + 161, 36 + 33 + 94 + 32 + 60),
    "any_agent_traces/OPENAI_trace": (3, 2, 269 + 359 + 392, 16 + 14 + 46),
}


def write_body(name, shared, folder):
    """The file of a recorded trace's OTLP body."""
    recorded = shared / "data" / f"{name}.json"
    if not recorded.is_file():
        pytest.skip(f"{recorded} is not there")
    file = folder / f"{recorded.stem}.json"
    file.write_text(json.dumps(body(json.loads(recorded.read_text()))))
    return file


def trace_of(file):
    """The trace that a body holds."""
    return json.loads(file.read_text())["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["traceId"]


def test_known_counts(plimsoll, shared, tmp_path):
    """Protects the count of each framework's calls and tokens: each once, none made up."""
    files = {name: write_body(name, shared, tmp_path) for name in KNOWN}
    plimsoll.run("ingest", *files.values())
    plimsoll.run("profile")
    rows = plimsoll.sql("SELECT run_id, model_calls, tool_calls, input_tokens, output_tokens FROM runs")
    runs = {row.pop("run_id"): row for row in rows}
    for name, (calls, tools, *tokens) in KNOWN.items():
        run = runs[trace_of(files[name])]
        assert [run["input_tokens"], run["output_tokens"]] == tokens, name
        assert run["model_calls"] == calls, name
        assert run["tool_calls"] == tools or tools is None, name


@pytest.mark.parametrize("name", KNOWN)
def test_explained(plimsoll, shared, tmp_path, request, name):
    """Protects what `explain` says of each framework's spans, as a person read it; lines of files aside."""
    file = write_body(name, shared, tmp_path)
    said = LINE.sub(r"\1", plimsoll.run("explain", file, lake=False).stdout.decode())
    kept = EXPLAINED / f"{name.rsplit('/', 1)[1]}.txt"
    if request.config.getoption("--write-docs"):
        EXPLAINED.mkdir(exist_ok=True)
        kept.write_text(said)
    assert said == kept.read_text(), f"{kept} no longer holds: read it, then run with --write-docs"
