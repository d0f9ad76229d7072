"""`plimsoll size`: the worksheet's worked examples, S1 to S8, as a script gets them."""

import pytest

EXAMPLES = {
    "S1 throughput": (
        "--rps 12 --calls 1.2 --input-tokens 4500 --output-tokens 700 --limit tokens_per_min=2000000",
        {
            "input_tokens_per_min": 3_888_000,
            "output_tokens_per_min": 604_800,
            "tokens_per_s": 74_880,
            "violations": ["tokens_per_min"],
        },
    ),
    "S2 in flight": (
        "--rps 12 --calls 1.2 --service-seconds 6 --limit concurrent=50",
        {"in_flight": 86.4, "violations": ["concurrent"]},
    ),
    "S3 mix": (
        "--mix 0.50:1:0 --mix 0.35:2:1 --mix 0.15:4:3",
        {"mean_model_calls": 1.8, "mean_tools": 0.8, "p95_model_calls": 4, "p95_tools": 3},
    ),
    "S4 runs and tools": (
        "--rps 10 --run-seconds 90 --parallel-tools 3",
        {"in_flight": 900, "tools_in_flight": 2700},
    ),
    "S5 workers": (
        "--rps 500 --input-tokens 1200 --worker-rps 10 --headroom 0.2"
        " --limit requests_per_min=6000 --limit tokens_per_min=30000000",
        {
            "tokens_per_s": 600_000,
            "requests_per_min": 30_000,
            "tokens_per_min": 36_000_000,
            "workers": 50,
            "workers_with_headroom": 60,
            "workers_fed": 10,
            "workers_idle": 50,
            "autoscale_min": 50,
            "autoscale_max": 120,
            "violations": ["requests_per_min", "tokens_per_min"],
        },
    ),
    "S6 month end": (
        "--calls 9 --input-tokens 6000 --output-tokens 600 --in-flight 40 --run-seconds 180"
        " --p95-factor 2.2 --headroom 0.35 --limit input_tokens_per_min=750000",
        {
            "input_tokens_per_run": 54_000,
            "output_tokens_per_run": 5_400,
            "runs_per_min": pytest.approx(40 / 3, rel=1e-15),
            "input_tokens_per_min": 720_000,
            "output_tokens_per_min": 72_000,
            "requests_per_min": 120,
            "p95_floor_input_tokens_per_min": 1_584_000,
            "p95_floor_output_tokens_per_min": 158_400,
            "p95_floor_requests_per_min": 264,
            "p95_need_input_tokens_per_min": 2_138_400,
            "p95_need_output_tokens_per_min": 213_840,
            "p95_need_requests_per_min": 356.4,
            "violations": ["input_tokens_per_min"],
        },
    ),
    "S7 unit": ("--unit-hour-usd 40", {"unit_month_usd": 29_200}),
    "S8 at 2 s": ("--rps 20 --service-seconds 2", {"in_flight": 40}),
    "S8 at 8 s": ("--rps 20 --service-seconds 8", {"in_flight": 160}),
}


@pytest.mark.parametrize("example", EXAMPLES)
def test_worked_example(plimsoll, example):
    """Protects the figures that people check by hand, and the JSON keys that scripts read."""
    flags, expected = EXAMPLES[example]
    answer = plimsoll.json("size", *flags.split())
    assert {key: answer.get(key) for key in expected} == expected


def test_what_cannot_be_known_is_absent(plimsoll):
    """Protects "any subset answers what it can": no invented zero."""
    answer = plimsoll.json("size", "--calls", "9", "--input-tokens", "6000")
    assert answer["input_tokens_per_run"] == 54_000
    assert "input_tokens_per_min" not in answer


@pytest.mark.parametrize(
    "flags, hint",
    [
        ("", "nothing to size"),
        ("--rps 1 --runs-per-min 60", "give one of"),
        ("--rps 1 --limit tokens_per_mni=5", "did you mean `tokens_per_min`"),
        ("--rps many", "--rps"),
    ],
)
def test_wrong_input_is_told(plimsoll, flags, hint):
    """Protects users from a wrong worksheet: exit code 2 and a sentence that says what to do."""
    assert hint in plimsoll.run("size", *flags.split(), code=2).stderr.decode()
