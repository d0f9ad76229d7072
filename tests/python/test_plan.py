"""`plimsoll plan`: from measured runs to a request, the same bytes every time."""

import json
import os
import re

import pytest

from support.spans import NOON, SECOND, agent, chat, post

AS_OF = "2026-11-02"
DAY = 24 * 60 * 60 * SECOND
DOCUMENTS = ("plan.json", "report.md", "report.html")


def test_the_same_bytes(company, tmp_path):
    """Protects reproducibility: same lake, spec and instant, the same three documents, byte for byte, on all
    processors and on one."""
    made, processors = [], os.sched_getaffinity(0)
    for name, on in (("all", processors), ("one", {min(processors)})):
        out = tmp_path / name
        os.sched_setaffinity(0, on)
        try:
            company.run("plan", "--spec", company.folder / "plan.toml", "--as-of", AS_OF, "--out", out)
        finally:
            os.sched_setaffinity(0, processors)
        made.append({document: (out / document).read_bytes() for document in DOCUMENTS})
    assert made[0] == made[1]
    assert made[0]["plan.json"] == (company.folder / "plan.json").read_bytes(), "and the same as the demo's"


def test_the_example_company(company):
    """Protects the main job: the next close needs more than the pool has, and must be filed now."""
    plan = json.loads((company.folder / "plan.json").read_text())
    parts = "pools quota_requests reservations tiers events risks concurrency budgets cheaper_first workflows"
    for part in parts.split():
        assert plan[part], f"{part} is empty"
    for pool in plan["pools"]:
        for dimension in pool["dimensions"]:
            assert dimension["decision"] in ("hold", "no_data", "planned", "file_now", "late")
            if dimension["ask"] is not None:
                assert dimension["ask"] >= dimension["need"] >= 0
    for request in plan["quota_requests"]:
        assert request["justification"] and request["evidence"] and request["channel"]


def test_what_the_example_company_teaches(company):
    """Protects what the example is there to show: who drives the request, what frees more than it asks for, what can
    wait, which fallback is none, that a bursty tier 0 gets no more units than its floor, and that the close stalls at
    the limit of today and not at the one asked for, tier 0 untouched in both."""
    plan = json.loads((company.folder / "plan.json").read_text())
    sonnet, haiku = "anthropic/direct/global/claude-sonnet-4.5", "aws.bedrock/runtime/geo/claude-haiku-4.5"
    pools = {pool["pool"]: pool for pool in plan["pools"]}

    (request,) = plan["quota_requests"]
    assert (request["pool"], request["event"]) == (sonnet, "month-end close")
    shares = {part["workflow"]: part["share"] for part in pools[sonnet]["contributors"]}
    assert max(shares, key=shares.get) == "invoice-reconciliation", shares

    fixes = {(fix["pool"], fix["fix"]): fix for fix in plan["cheaper_first"]}
    assert fixes[sonnet, "batch"]["workflow"] == "nightly-evals"
    (tokens,) = (row for row in pools[haiku]["dimensions"] if row["dimension"] == "tokens_per_min")
    freed = fixes[haiku, "max_tokens"]
    assert tokens["need"] > tokens["limit"] and tokens["ask"] is None and tokens["fix_first"], "a setting comes first"
    left = tokens["p95_floor"] - freed["frees"]
    assert freed["dimension"] == "tokens_per_min" and 0 < left * 1.35 <= tokens["limit"], "headroom included"

    assert haiku in {risk["pool"] for risk in plan["risks"] if risk["risk"] == "shared fallback pool"}
    for row in plan["reservations"]:
        assert row["recommended"] <= row["floor_units"], row

    # The close, replayed at the limit of today and at the one that is asked for.
    (close,) = (row for row in plan["unsigned"] if row["pool"] == sonnet)
    stalls = {run["workflow"]: (run["today"], run["asked"]) for run in close["workflows"] if run["tier"] > 0}
    today, asked = stalls["invoice-reconciliation"]
    for share in ("throttled_share", "lost_share"):
        assert today[share] > asked[share] == 0, (share, today, asked)
    untouched = [run for run in close["workflows"] if run["tier"] == 0]
    assert untouched and all(run["today"] == run["asked"] for run in untouched), untouched


def test_self_contained_report(company):
    """Protects readers without a network: the report loads nothing, and says what a screen reader needs."""
    html = (company.folder / "report.html").read_text()
    for loader in ("<script src", "<link rel", "@import", "url(http", 'src="http'):
        assert loader not in html, loader
    assert "<svg" in html and "<title" in html
    assert "prefers-color-scheme" in html


def test_the_report_draws_what_was_measured(company):
    """Protects the charts that the command feeds with measured figures, and what a signer looks for on page one."""
    plan = json.loads((company.folder / "plan.json").read_text())
    assert plan["ledger"] and plan["unsigned"] and plan["event_rates"][0]["past"]
    html = (company.folder / "report.html").read_text()
    drawn = set(re.findall(r'aria-labelledby="([a-z]+)[-\d]*-t', html))
    kinds = {"draw", "minute", "need", "admission", "scorecard", "reservation", "hours", "runs"}
    assert drawn >= kinds, kinds - drawn
    for heading in ("Decisions, by date", "If nothing is signed", "How far to trust this", "Who signs what"):
        assert heading in html, heading
    assert plan["plan_id"] in html and plan["plan_id"] in (company.folder / "report.md").read_text()


@pytest.mark.parametrize(
    "text, hint",
    [
        ("[policy]\nheadrom = 0.35\n", "headroom"),
        ("[policy]\nheadroom = 0.10\n", "headroom"),
        ("[[event]]\nname = 'x'\nwhen = 'every blue moon'\nworkflows = {}\n", "when"),
        ("[[pool]]\nkey = 'one/two'\n", "one/two"),
        ("[[pool]]\nkey = 'anthropic/direct/global/claude-sonet-4.5'\n", "plan.toml:1: pool"),
        ("[policy\n", "plan.toml:1"),
    ],
)
def test_the_spec_is_checked(company, tmp_path, text, hint):
    """Protects owners of plan.toml: exit code 2, the file, and what was probably meant."""
    spec = tmp_path / "plan.toml"
    spec.write_text(text)
    said = company.run("plan", "--spec", spec, "--as-of", AS_OF, code=2).stderr.decode()
    assert "plan.toml" in said and hint in said, said


def test_no_data_is_said(plimsoll):
    """Protects from a plan made of nothing: exit code 3."""
    (plimsoll.folder / "plan.toml").write_text("[policy]\nheadroom = 0.35\n")
    assert "no run" in plimsoll.run("plan", code=3).stderr.decode()


SPEC = """
[policy]
headroom = 0.35
history = "28d"
time_zone = "America/New_York"
holidays = "US-federal"

[[pool]]
key = "anthropic/direct/global/claude-sonnet-4.5"
account = "prod"
limits = [
  { requests_per_min = 4000, input_tokens_per_min = 750000, output_tokens_per_min = 400000, from = "2026-09-01" },
]
lead_time = "21d"

[[workflow]]
name = "invoice-reconciliation"
tier = 1

[[event]]
name = "month-end close"
when = "last business day of month, 09:00-12:00"
workflows = { invoice-reconciliation = { in_flight = 40 } }
"""

SETTINGS = """
[[account]]
name = "prod"
match = { service = "finance-agents" }
[[deployment]]
match = { model = "claude-sonnet-4-5*" }
pool = "anthropic/direct/global/claude-sonnet-4.5"
"""


NO_CACHE = {"gen_ai__usage__cache_read__input_tokens": 0, "gen_ai__usage__cache_creation__input_tokens": 0}


def s6_runs(cache_told=True):
    """A hundred runs of three minutes: nine calls of 6,000 in and 600 out on average, P95 2.2 times that.

    The P95 of 100 values lies 0.05 of the way from the 95th to the 96th, so the six largest runs fix it:
    19 + 0.05 x (35 - 19) = 19.8 calls, and 118,800 and 11,880 tokens.
    """
    calls = [8] * 48 + [7] * 46 + [19] + [35] * 5
    assert sum(calls) == 900

    def tokens(mean, top):
        rest = 100 * mean - 6 * top
        return [rest // 94 + (number < rest % 94) for number in range(94)] + [top] * 6

    for number, (n, total_in, total_out) in enumerate(zip(calls, tokens(54_000, 118_800), tokens(5_400, 11_880))):
        # Sixteen days from 12 October, six or seven runs a day, clear of the days of a close.
        start = NOON - 22 * DAY + (number % 16) * DAY + (number // 16) * 600 * SECOND
        root = agent("invoice-reconciliation", start=start, seconds=180.0)
        yield [root] + [
            chat(
                root,
                total_in // n + (call < total_in % n),
                total_out // n + (call < total_out % n),
                **(NO_CACHE if cache_told else {}),
                start=start + call * 5 * SECOND,
                seconds=4.0,
            )
            for call in range(n)
        ]


def receive(plimsoll, runs):
    """Runs on the wire, to profiles."""
    plimsoll.config(SETTINGS)
    (plimsoll.folder / "plan.toml").write_text(SPEC)
    with plimsoll.serve() as server:
        for run in runs:
            post(server, run, service="finance-agents")
    plimsoll.run("profile")


def test_s6_from_telemetry(plimsoll):
    """Protects the chain of S6 from spans on the wire to a quota request: the worksheet's figures, exactly."""
    receive(plimsoll, s6_runs())
    runs = plimsoll.one(
        """SELECT count(*) AS n, sum(input_tokens) AS input, sum(output_tokens) AS output, sum(model_calls) AS calls,
             percentiles(input_tokens, [0.95]) AS p95 FROM runs"""
    )
    assert runs == {"n": 100, "input": 5_400_000, "output": 540_000, "calls": 900, "p95": [118_800.0]}

    plan = plimsoll.json("plan", "--as-of", "2026-11-02T15:00:00Z")
    pool = next(pool for pool in plan["pools"] if pool["pool"] == "anthropic/direct/global/claude-sonnet-4.5")
    assert (pool["account"], pool["binding"]) == ("prod", "input_tokens_per_min")
    dimensions = {dimension["dimension"]: dimension for dimension in pool["dimensions"]}
    figures = ("limit", "mean_demand", "p95_floor", "p95_need")
    for name, expected in {
        "input_tokens_per_min": (750_000, 720_000, 1_584_000, 2_138_400),
        "output_tokens_per_min": (400_000, 72_000, 158_400, 213_840),
        "requests_per_min": (4_000, 120, 264, 357),
    }.items():
        assert tuple(dimensions[name][figure] for figure in figures) == expected, name
    binding = dimensions["input_tokens_per_min"]
    assert binding["event"] == "month-end close" and binding["event_start"].startswith("2026-11-30T14:00")
    assert (binding["file_by"], binding["last_safe"], binding["decision"]) == ("2026-08-31", "2026-11-09", "file_now")
    request = next(r for r in plan["quota_requests"] if r["dimension"] == "input_tokens_per_min")
    # What is asked for covers what whole runs need by replay, which lies between the mean and the hand-made figure.
    assert 720_000 < binding["replayed"] < binding["need"] <= 2_138_400
    assert request["from"] == 750_000 and request["to"] >= binding["need"]
    assert request["justification"] and request["evidence"]
    assert plimsoll.run("plan", "--as-of", "2026-11-02T15:00:00Z", "--check", code=10)


def test_two_days_are_no_plan(plimsoll):
    """Protects from a number that looks like a plan: two days of telemetry are told to be too little, with exit 3,
    and no need is printed."""

    def runs():
        for number in range(40):
            start = NOON - (2 + number % 2) * DAY + number * 60 * SECOND
            root = agent("invoice-reconciliation", start=start, seconds=60.0)
            yield [root, chat(root, 6_000, 600, **NO_CACHE, start=start, seconds=4.0)]

    receive(plimsoll, runs())
    done = plimsoll.run("--format", "json", "plan", "--as-of", "2026-11-02T15:00:00Z", code=3)
    assert "40 runs on 2 days" in done.stderr.decode() and "3 days are the least" in done.stderr.decode()
    plan = json.loads(done.stdout)
    assert not plan["quota_requests"] and not plan["reservations"]
    assert all(
        row["need"] == 0 and row["decision"] == "no_data" for pool in plan["pools"] for row in pool["dimensions"]
    )


def test_clients_that_leave_out_zeros(plimsoll):
    """Protects the usual client, which sends no cache attribute where nothing was cached: tokens that are
    known must be planned for, and what is not known is no reason to say that there is nothing to file."""
    receive(plimsoll, s6_runs(cache_told=False))
    plan = plimsoll.json("plan", "--as-of", "2026-11-02T15:00:00Z")
    pool = next(pool for pool in plan["pools"] if pool["pool"] == "anthropic/direct/global/claude-sonnet-4.5")
    floors = {dimension["dimension"]: dimension["p95_floor"] for dimension in pool["dimensions"]}
    assert floors == {"requests_per_min": 264, "input_tokens_per_min": 1_584_000, "output_tokens_per_min": 158_400}
    assert plan["quota_requests"]
