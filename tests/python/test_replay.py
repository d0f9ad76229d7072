"""`plimsoll replay` on the example company: the coming close, a recorded one, and a broker's policy enforced."""

import json

import pytest

AS_OF = "2026-11-02"
SONNET = "anthropic/direct/global/claude-sonnet-4.5"
INPUT = "input_tokens_per_min"
LAST_CLOSE = ("--from", "2026-10-30T13:30:00Z", "--to", "2026-10-30T14:30:00Z")


@pytest.fixture(scope="module")
def replayed(company):
    """A replay as JSON."""

    def replay(*arguments):
        spec = company.folder / "plan.toml"
        return company.json("replay", "--spec", spec, "--as-of", AS_OF, "--seeds", "3", *arguments)

    return replay


def tier(shown, number):
    """One tier's row."""
    return next(tier for tier in shown["tiers"] if tier["tier"] == number)


def served(shown, number):
    """One tier's verdict."""
    return next(tier for tier in shown["served"] if tier["tier"] == number)


def test_the_close_stalls_today_and_not_at_what_is_asked(company, replayed):
    """Protects the example's point, with the policy enforced: at the limit of today the replay stalls the close,
    at the one that the plan asks for it does not, and tier 0 is untouched in both."""
    plan = json.loads((company.folder / "plan.json").read_text())
    request = next(one for one in plan["quota_requests"] if (one["pool"], one["dimension"]) == (SONNET, INPUT))
    assert request["from"] == 1_000_000 and request["to"] > request["from"]
    close = ("--event", "month-end close", "--policy", company.folder / "policy.json")
    today, asked = replayed(*close), replayed(*close, "--limit", f"{SONNET}:{INPUT}={request['to']}")
    assert not served(today, 1)["held"] and served(today, 1)["throttled_share"] > 0.005
    assert served(asked, 1)["held"], asked["served"]
    # What the copilot's own units refuse goes on to its standard pool; the close changes nothing of it.
    assert tier(today, 0) == tier(asked, 0) and tier(today, 0)["operations"] > 0
    assert served(today, 0) == served(asked, 0) and served(asked, 0)["lost_share"] == 0.0
    assert today["little"]["exact"] and asked["little"]["exact"]


def test_the_policy_is_the_plan_s(company):
    """Protects a gateway that loads the file: floors of tiers 0 and 1 alone, tier 0's lent to nobody."""
    policy = json.loads((company.folder / "policy.json").read_text())
    plan = json.loads((company.folder / "plan.json").read_text())
    assert policy["plan_id"] == plan["plan_id"]
    for pool in policy["pools"]:
        assert pool["buckets"] and pool["tiers"] and pool["estimate"]["meter"]
        for tier in pool["tiers"]:
            assert 0 not in tier["may_borrow"] and tier["max_wait_s"] > 0
            assert tier["tier"] < 2 or tier["floors"] == {}
    sonnet = next(pool for pool in policy["pools"] if pool["pool"] == SONNET)
    assert [tier["tier"] for tier in sonnet["tiers"]] == [1, 2, 3] and sonnet["shed"] == [3, 2, 1]


def test_a_recorded_close_as_it_was(company, replayed):
    """Protects hindsight: the hour that was throttled is throttled when it is replayed, every run once and at its
    own time, and the plan of today says whether what it asks for would have held."""
    runs = company.one(
        """SELECT count(*) AS n FROM runs
           WHERE start_time >= '2026-10-30T13:30:00Z' AND start_time < '2026-10-30T14:30:00Z'"""
    )["n"]
    hour = replayed(*LAST_CLOSE, "--plan", company.folder / "plan.json")
    assert sum(tier["runs"] for tier in hour["tiers"]) + hour["recorded"]["left_out"] >= runs > 0
    assert hour["rates"] == [] and hour["minutes"] == 60
    row = next(row for row in hour["plan"]["dimensions"] if (row["pool"], row["dimension"]) == (SONNET, INPUT))
    assert row["busiest"] > 0 and row["covered"] and hour["plan"]["held"]
    squeezed = replayed(*LAST_CLOSE, "--limit", f"{SONNET}:{INPUT}={row['busiest'] // 2}")
    assert tier(squeezed, 1)["throttled"] > 0 and not served(squeezed, 1)["held"]
    said = company.run("replay", "--spec", company.folder / "plan.toml", "--hour", "2026-10-31T09:00:00Z", code=2)
    assert "choose a stretch" in said.stderr.decode()


def test_slots_waits_and_retries(company, replayed):
    """Protects what-ifs of the client's own: a tool with one slot queues and throttles nobody; a wait that ends is
    told; what cannot be read is refused with what to write."""
    close = ("--event", "month-end close")
    wide = (*close, "--limit", f"{SONNET}:{INPUT}=50000000")
    queued = replayed(*wide, "--slots", "erp_post=1")
    tool = next(queue for queue in queued["queues"] if queue["pool"] == "erp_post")
    assert (tool["kind"], tool["in_flight_max"]) == ("tool", 1) and tool["held_for_slots"] > 0
    assert tier(queued, 1)["throttled"] == 0
    retry = "attempts=50,base=1s,cap=4s,jitter=full,retry-after=ignored"
    small = (*close, "--limit", f"{SONNET}:{INPUT}=300000")
    expiring = replayed(*small, "--retry", retry, "--max-wait", "1=5s")
    assert tier(expiring, 1)["expired"] > 0
    over = replayed(*small, "--failover-after", "1")
    assert tier(over, 1)["failed_over"] > 0
    for wrong, hint in (
        (("--slots", "nobody=1"), "nobody"),
        (("--retry", "tries=3"), "attempts"),
        (("--limit", f"{SONNET}:tokens=1"), "draws tokens"),
        (("--policy", company.folder / "plan.json"), "no policy"),
    ):
        said = company.run("replay", "--spec", company.folder / "plan.toml", *close, *wrong, code=2)
        assert hint in said.stderr.decode(), said.stderr


def test_the_page_tells_everything(company):
    """Protects people: queues, completion, first token, dollars and the verdicts are in the table too."""
    said = company.run(
        "replay",
        "--spec",
        company.folder / "plan.toml",
        "--as-of",
        AS_OF,
        "--event",
        "month-end close",
        "--seeds",
        "3",
        "--plan",
        company.folder / "plan.json",
    ).stdout.decode()
    for part in ("waiting a minute", "completion P50", "first token P95", "cost", "Little's law", "served", "plan"):
        assert part in said, part
