"""`plimsoll size`: the worked examples S1 to S8, those of the page on sizing, and worksheets, as a script gets them."""

import json
import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

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


def documented():
    """Command and part of its answer, of every example on the page."""
    page = (ROOT / "docs" / "sizing.md").read_text()
    pairs = re.findall(r"```sh\nplimsoll (size .*)\n```\n```json\n(.*)\n```", page)
    assert len(pairs) == page.count("```sh")
    return pairs


@pytest.mark.parametrize("command, expected", documented())
def test_the_page_on_sizing(plimsoll, command, expected):
    """Protects the page: every command on it prints what stands below it."""
    answer = plimsoll.json(*shlex.split(command))
    expected = json.loads(expected)
    assert {key: answer[key] for key in expected} == expected


def test_a_pool_in_full(plimsoll):
    """Protects the keys that scripts read, money as text, and the break-even of every term."""
    pool = "azure.ai.openai/provisioned/global/gpt-5.6-sol"
    command = "--rpm 1157/60 --input-tokens 1000 --output-tokens 300"
    answer = plimsoll.json("size", "--pool", pool, *command.split())
    hourly = {term["term"]: (term["hourly_usd"], term["break_even"]) for term in answer["terms"]}
    assert hourly == {"hourly": ("45.00", "2.78"), "1-month": ("16.03", "0.99"), "1-year": ("13.62", "0.84")}
    assert answer["on_demand"]["hourly_usd"] == "16.20"
    assert answer["next_step_at"] == "19.29"


def test_a_limit_of_a_pool(plimsoll):
    """Protects admission: an unset max_tokens reserves the model's maximum, so 31 calls fit where 1,333 would."""
    pool = "aws.bedrock/runtime/geo/claude-sonnet-4.5"
    command = ("size", "--pool", pool, "--rpm", "1", "--input-tokens", "500", "--limit", "tokens_per_min=2000000")
    answers = [plimsoll.json(*command, *more) for more in ([], ["--max-tokens", "1000"])]
    fits = [answer["rates"][0]["limit_fits_calls"] for answer in answers]
    assert fits == [31, 1333]


def test_a_retired_model_answers(plimsoll):
    """Protects old plans: the row of a retired model answers, and says so."""
    pool = "gcp.vertex_ai/provisioned/global/gemini-2.0-flash"
    answer = plimsoll.json("size", "--pool", pool, "--qps", "10", "--input-tokens", "100")
    assert answer["units"] == 1
    assert any("was retired on 2026-06-01" in warning for warning in answer["warnings"])


def test_the_sample_worksheet(plimsoll):
    """Protects the three forms of a worksheet's table."""
    sample = str(ROOT / "schemas" / "config" / "worksheet-claims.toml")
    lines = plimsoll.json("size", "-f", sample)
    first = lines[0]
    assert (first["scenario"], first["percentile"], first["units"], first["usd_per_hour"]) == (
        "base",
        "p50",
        "40",
        "14.25",
    )
    table = plimsoll.run("size", "-f", sample).stdout.decode()
    assert table.count("scenario: ") == 4
    csv = plimsoll.run("size", "-f", sample, "--format", "csv").stdout.decode().splitlines()
    assert len(csv) == len(lines) + 1 and csv[0].startswith("scenario,line,name,percentile,")


@pytest.mark.parametrize(
    "flags, hint",
    [
        (
            "--pool azure.ai.openai/provisioned/datazone/gpt-5.22 --rpm 1",
            "azure.ai.openai/provisioned/datazone/gpt-5.2`",
        ),
        ("--pool gpt-5.2 --rpm 1", "provider/product/scope/model"),
        ("--pool openai/direct/global/gpt-5", "no rate is given"),
        ("--pool openai/direct/global/gpt-5 --rpm 1 --cache-rate 7", "cache_rate is 7"),
        ("--pool openai/direct/global/gpt-5 --rpm 1 --output-tokens 9 --max-tokens 5", "above max_tokens 5"),
        ("--pool openai/direct/global/gpt-5 --rpm 1 --limit gpus=3", "no limit `gpus`"),
        ("--pool openai/direct/global/gpt-5 --rpm 1 --price input=0.000003", "is it typed per token?"),
        ("--pool openai/direct/global/gpt-5 --rpm 1 --as-of today", "--as-of"),
        ("--cache-rate 0.5 --rpm 1", "--pool"),
    ],
)
def test_a_wrong_pool_is_told(plimsoll, flags, hint):
    """Protects users from an answer to another question: exit code 2 and what to do."""
    assert hint in plimsoll.run("size", *flags.split(), code=2).stderr.decode()


def test_a_wrong_worksheet_is_told(plimsoll, tmp_path):
    """Protects users from a worksheet with a slip: file and line, and exit code 2."""
    sheet = tmp_path / "sheet.toml"
    sheet.write_text('[[class]]\nname = "a"\npool = "openai/direct/global/gpt-5"\nruns_per_minute = 5\n')
    said = plimsoll.run("size", "-f", str(sheet), code=2).stderr.decode()
    assert "sheet.toml:4" in said and "did you mean `runs_per_min`" in said
