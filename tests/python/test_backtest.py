"""`plimsoll backtest`: plans against what came after them, and the page that says how they fared.

`pytest tests/python/test_backtest.py --write-docs` writes docs/backtest.md anew; without it the page must be what the
command prints. The example company is the small one that these tests share.
"""

import json
import os

import pytest

from conftest import DEMO_SCALE, ROOT
from support.backtest_page import NOTES, covered, met, page

PAGE = ROOT / "docs" / "backtest.md"
FOLDERS = ("azure2023", "mooncake", "servegen")
# Ten plans of a lake, by an unoptimised build, and a million requests of a trace take their time.
pytestmark = pytest.mark.timeout(1800)
KEYS = {"trace", "method", "windows", "covered", "over_provision", "throttled_share"}


@pytest.fixture(scope="module")
def public(company, shared):
    """Scores of the public traces, in the command's order."""
    paths = [shared / "data" / folder for folder in FOLDERS]
    missing = [path for path in paths if not path.is_dir()]
    if missing:
        pytest.skip(f"no public traces at {missing}")
    return company.json("backtest", *paths, lake=False, timeout=1800)


@pytest.fixture(scope="module")
def pools(company):
    """Scores of the example company's pools."""
    return company.json("backtest", company.lake, lake=False, timeout=1800)


def by_trace(scores):
    """Replay and P95 of each trace and dimension, side by side."""
    found = {}
    for score in scores:
        found.setdefault((score["trace"], score["dimension"]), {})[score["method"]] = score
    return found


def test_every_trace_has_both_methods(public, pools):
    """Protects scripts: a list of both methods, on the same windows, with the promised keys."""
    for (trace, dimension), of in by_trace(public + pools).items():
        assert set(of) == {"replay", "p95"}, (trace, dimension)
        assert of["replay"]["windows"] == of["p95"]["windows"] > 0
        for score in of.values():
            assert set(score) >= KEYS
            assert 0 <= score["covered"] <= score["windows"]
            assert 0 <= score["throttled_share"] <= 1
            assert len(score["origins"]) == 10
            assert score["windows"] == sum(origin["windows"] for origin in score["origins"])
            assert score["requests"] <= 1_000_000


def test_the_goal(public):
    """Protects the claim of the page: where it is not met, a note says what cannot be known."""
    for (trace, _), of in by_trace(public).items():
        replay = of["replay"]
        assert met(replay) or trace in NOTES, (trace, covered(replay), replay["over_provision"])


def test_the_same_again(company, shared):
    """Protects reproducibility: the same seed gives the same scores, another seed another sample."""
    path = shared / "data" / "servegen" / "reason"
    one, same = (company.run("--format", "json", "backtest", path, lake=False).stdout for _ in range(2))
    assert one == same
    other = company.run("--format", "json", "backtest", path, "--seed", "2", lake=False).stdout
    assert other != one and len(json.loads(other)) == len(json.loads(one))


def test_a_history_by_hand(plimsoll):
    """Protects the arithmetic: ten requests of 100 tokens every second are 60,000 a minute, for ever."""
    rows = [f"2026-01-01T00:{at // 60:02d}:{at % 60:02d}Z,90,10" for at in range(60 * 40) for _ in range(10)]
    trace = plimsoll.folder / "steady.csv"
    trace.write_text("\n".join(["timestamp,input_tokens,output_tokens", *rows]))
    scores = {score["method"]: score for score in plimsoll.json("backtest", trace, lake=False)}
    replay = scores["replay"]
    # 39 whole minutes, the first origin after 13: 26 + 23 + 20 + 18 + 15 + 13 + 10 + 7 + 5 + 2.
    assert replay["windows"] == sum(39 - (13 + nth * 26 // 10) for nth in range(10))
    assert replay["covered"] == replay["windows"] and replay["throttled_share"] == 0
    assert {origin["largest"] for origin in replay["origins"]} == {60_000}
    assert 1 <= replay["over_provision"] < 1.5
    # Every request is 100 tokens, so that P95 x rate is the demand itself.
    assert scores["p95"]["over_provision"] == 1


HEADER = "timestamp,input_tokens,output_tokens\n"
ROW = "2026-01-01T00:00:00Z,1,2\n"


@pytest.mark.parametrize(
    "name, text, code, hint",
    [
        ("empty.csv", "", 2, "empty.csv: is empty"),
        ("header.csv", HEADER, 2, "header.csv"),
        ("untimed.csv", "input_tokens,output_tokens\n1,2\n", 2, "untimed.csv:1"),
        ("odd.csv", HEADER + ROW + "2026-01-01T00:00:01Z,x,2\n", 2, "odd.csv:3"),
        ("gap.csv", HEADER + "2026-01-01T00:00:00Z,,2\n", 2, "gap.csv:2"),
        ("lines.jsonl", '{"timestamp": 0, "input_length": 1, "output_length": 1}\n{"timest\n', 2, "lines.jsonl:2"),
        ("short.csv", HEADER + ROW + "2026-01-01T00:05:00Z,1,2\n", 3, "5 whole minutes"),
    ],
)
def test_bad_input(plimsoll, name, text, code, hint):
    """Protects from scores of nothing: a sentence that names file and line."""
    path = plimsoll.folder / name
    path.write_text(text)
    said = plimsoll.run("backtest", path, lake=False, code=code).stderr.decode()
    assert hint in said and said.count("\n") == 1, said


def test_nothing_there(plimsoll):
    """Protects from silence: no file, no trace in a folder, no run in a lake."""
    assert "nowhere.csv" in plimsoll.run("backtest", "nowhere.csv", lake=False, code=2).stderr.decode()
    (plimsoll.folder / "none").mkdir()
    assert "name a trace" in plimsoll.run("backtest", "none", lake=False, code=2).stderr.decode()
    plimsoll.run("profile")
    assert "plimsoll profile" in plimsoll.run("backtest", code=3).stderr.decode()


def test_page(public, pools, request):
    """docs/backtest.md says what the command prints."""
    if os.environ.get("PLIMSOLL_CI_SCALE", DEMO_SCALE) != DEMO_SCALE:
        pytest.skip(f"the page is of an example company at scale {DEMO_SCALE}")
    made = page(by_trace(public), by_trace(pools))
    if request.config.getoption("--write-docs"):
        PAGE.write_text(made)
    assert PAGE.read_text() == made, "docs/backtest.md is not what the command prints: run with --write-docs"
