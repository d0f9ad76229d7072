"""Real SDKs against a stand-in provider, live: what `runs` says is what the provider billed."""

import json
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from support.command import PATIENCE_S, environment

HERE = Path(__file__).resolve().parent


class Provider:
    """The stand-in for OpenAI and Anthropic, whose log is the truth."""

    def __init__(self, program, port, log):
        self.url = f"http://127.0.0.1:{port}"
        self.log = log
        self.process = subprocess.Popen([sys.executable, str(program), str(port), str(log)])

    def wait_until_ready(self):
        """Waits until it answers."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            assert self.process.poll() is None, f"the stand-in ended with {self.process.returncode}"
            try:
                urllib.request.urlopen(f"{self.url}/_ctl/ok", timeout=5).read()
                return
            except OSError:
                time.sleep(0.05)
        raise AssertionError("the stand-in did not answer")

    def run(self, number):
        """What `runs` must say of a run, by the requests that came in."""
        requests = [json.loads(line) for line in self.log.read_text().splitlines()]
        requests = [request for request in requests if request["run"] == number]
        served = [request for request in requests if request["status"] == 200]
        embeddings = [request for request in served if request["path"].endswith("/embeddings")]
        generations = [request for request in served if request not in embeddings]
        told = [request for request in generations if request["include_usage"]]

        def total(requests, *parts):
            return sum(request[part] for request in requests for part in parts)

        known_input, known_output = total(told, "input_total"), total(told, "output")
        complete = told == generations
        cached = total(told, "cached", "cache_write")
        totals = {
            "input_tokens": known_input,
            "input_uncached": known_input - cached,
            "cache_read": total(told, "cached"),
            "cache_write": total(told, "cache_write"),
            "output_tokens": known_output,
            "reasoning_tokens": total(told, "reasoning"),
        }
        return {
            "outcome": "ok",
            "service": "live-suite",
            "model_calls": len(generations),
            "tool_calls": sum(len(request["tools_asked"]) for request in generations),
            "max_parallel_tools": 2,
            "embedding_calls": len(embeddings),
            "embedding_tokens": total(embeddings, "input_total"),
            "known_input_tokens": known_input,
            "known_output_tokens": known_output,
            **(totals if complete else dict.fromkeys(totals)),
        }, sum(request["status"] == 429 for request in requests)


@pytest.fixture
def provider(shared, unused_port, tmp_path):
    """A running stand-in; PLIMSOLL_SHARED has its program."""
    program = shared / "corpus" / "fake_llm.py"
    if not program.is_file():
        pytest.skip(f"{program} is not there: no stand-in for a provider")
    provider = Provider(program, unused_port, tmp_path / "provider.jsonl")
    try:
        provider.wait_until_ready()
        yield provider
    finally:
        provider.process.kill()
        provider.process.wait(timeout=30)


@pytest.mark.parametrize("sdk", ["openai", "anthropic", "openinference"])
def test_runs_are_what_was_billed(plimsoll, provider, sdk):
    """Protects every count of a run, by OpenTelemetry's and OpenInference's instrumentations of OpenAI's SDK
    and by Anthropic's own spans, with tools at once, cached prompts, streams and refusals."""
    first = 1
    with plimsoll.serve() as server:
        subprocess.run(
            [sys.executable, "-m", "support.live_agent", sdk, provider.url, f"http://{server.http}", str(first)],
            cwd=HERE,
            env=environment({"OTEL_BSP_SCHEDULE_DELAY": "200"}),
            check=True,
            timeout=PATIENCE_S,
        )
    plimsoll.run("profile")
    found = {row["workflow"]: row for row in plimsoll.sql("SELECT * FROM runs")}
    assert found.keys() == {f"{sdk}/{first}", f"{sdk}/{first + 1}"}
    for number in (first, first + 1):
        expected, refused = provider.run(number)
        row = found[f"{sdk}/{number}"]
        assert {name: row[name] for name in expected} == expected, number
        assert refused == 1
    # What the application retries, each SDK shows; what an SDK retries by itself, they keep to themselves.
    assert found[f"{sdk}/{first + 1}"]["throttled_attempts"] == 1
    assert found[f"{sdk}/{first}"]["throttled_attempts"] is None
    assert plimsoll.json("check") == []
