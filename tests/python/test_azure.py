"""The public Azure LLM inference traces of 2023: known answers by SQL."""

import pytest

TRACES = {
    "conv": {
        "runs": 19_366,
        "totals": (22_361_870, 4_088_665),
        "input": [1020.0, 4083.0, 4142.0],
        "output": [129.0, 451.0, 601.0],
        # The busiest UTC-aligned window: requests, input tokens, output tokens.
        "busiest": {1: (19, 33_264, None), 60: (502, 710_031, 96_894), 300: (2_243, 3_121_662, None)},
    },
    "code": {"runs": 8_819, "input": [None, 7303.3, None]},
}


@pytest.mark.parametrize("trace", TRACES)
def test_known_answers_twice(plimsoll, shared, trace):
    """Protects CSV ingest, exact percentiles and exact windows; and that the same file changes nothing."""
    csv = shared / "data" / "azure2023" / f"AzureLLMInferenceTrace_{trace}.csv"
    if not csv.is_file():
        pytest.skip(f"{csv} is not there")
    known = TRACES[trace]
    answers = []
    for again in (False, True):
        report = plimsoll.json("ingest", csv, "--set", f"workflow={trace}")
        assert report["already_ingested"] is again
        plimsoll.run("profile")
        answers.append(measured(plimsoll))
    first, second = answers
    assert first == second, "a second ingest of the same file changes nothing"
    assert first["runs"] == known["runs"]
    for name in ("totals", "busiest"):
        for found, expected in pairs(first[name], known.get(name)):
            assert found == expected, name
    for name in ("input", "output"):
        for found, expected in pairs(first[name], known.get(name)):
            assert found == pytest.approx(expected, rel=1e-12, abs=0), name
    assert first["profile"] == first["input"], "run_profiles says what the runs say"


def pairs(found, expected):
    """What is found beside what is known, where something is."""
    if expected is None:
        return
    if isinstance(expected, dict):
        for key, each in expected.items():
            yield from pairs(found[key], each)
        return
    assert len(found) == len(expected)
    for each, right in zip(found, expected):
        if right is not None:
            yield each, right


def measured(plimsoll):
    """The trace as the lake knows it."""
    runs = plimsoll.one(
        """SELECT count(*) AS runs, sum(input_tokens) AS input, sum(output_tokens) AS output,
             percentiles(input_tokens, [0.5, 0.95, 0.99]) AS input_p,
             percentiles(output_tokens, [0.5, 0.95, 0.99]) AS output_p FROM runs"""
    )
    peaks = plimsoll.sql(
        """SELECT window_s, measure, max(amount) AS peak FROM lake.draw
           WHERE measure IN ('requests', 'input_tokens', 'output_tokens') GROUP BY window_s, measure"""
    )
    peak = {(row["window_s"], row["measure"]): row["peak"] for row in peaks}
    profile = plimsoll.one("SELECT p50, p95, p99 FROM run_profiles WHERE grain = 'month' AND metric = 'input_tokens'")
    return {
        "runs": runs["runs"],
        "totals": (runs["input"], runs["output"]),
        "input": runs["input_p"],
        "output": runs["output_p"],
        "busiest": {
            window: tuple(peak[window, measure] for measure in ("requests", "input_tokens", "output_tokens"))
            for window in (1, 60, 300)
        },
        "profile": [profile["p50"], profile["p95"], profile["p99"]],
    }
