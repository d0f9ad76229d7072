"""The plan's life after it is made: due dates, drafts and outcomes, differences, derivations, limits."""

import json
import shutil

import pytest

AS_OF = "2026-11-02"
SONNET = "anthropic/direct/global/claude-sonnet-4.5"


@pytest.fixture
def planner(company, tmp_path):
    """The example company's lake with a spec and a ledger that a test may change; runs `plan` on them."""
    for name in ("plan.toml", "ledger.toml"):
        shutil.copy(company.folder / name, tmp_path / name)
    other = type(company)(company.binary, tmp_path)
    other.lake = company.lake
    other.spec, other.ledger = tmp_path / "plan.toml", tmp_path / "ledger.toml"
    settings = company.folder / "plimsoll.toml"
    if settings.is_file():
        shutil.copy(settings, tmp_path / "plimsoll.toml")
    return other


def plan(planner, *arguments, **options):
    """The plan of the day that the tests are about, as JSON."""
    return planner.json("plan", "--as-of", AS_OF, *arguments, **options)


def test_a_plan_is_recorded_once(planner):
    """Protects from filing twice: drafts are added once, what stood in the file stays, and outcomes follow."""
    before = planner.ledger.read_text()
    asked = plan(planner, "--record")["quota_requests"]
    assert asked
    text = planner.ledger.read_text()
    assert text.startswith(before) and text.count("drafted = ") == len(asked)
    assert plan(planner, "--record")["quota_requests"] == []
    assert planner.ledger.read_text() == text
    first = asked[0]
    place = (first["pool"], first["dimension"])
    filed = planner.json("ledger", "file", *place, "--on", "2026-11-03", "--case", "C-7")
    assert (filed["state"], filed["asked"], filed["case"]) == ("filed", first["to"], "C-7")
    said = planner.run("ledger", "decide", *place, "--on", "2026-11-01", "--granted", "5", code=2).stderr.decode()
    assert "ledger.toml:" in said and "before it was filed" in said, said
    planner.run("ledger", "decide", *place, "--on", "2026-11-20", "--granted", first["to"])
    states = [row["state"] for row in planner.json("ledger", "list")]
    assert states.count("drafted") == len(asked) - 1 and states.count("decided") == 2


def test_what_is_due(planner):
    """Protects the person on duty: what is due is listed by day, and the exit code says whether anything is."""
    due = json.loads(
        planner.run("--format", "json", "plan", "--as-of", AS_OF, "--check", "--within", "30d", code=10).stdout
    )
    assert [row["by"] for row in due] == sorted(row["by"] for row in due)
    kinds = {row["kind"] for row in due}
    assert "reservation" in kinds and kinds & {"file", "late"}, due
    assert all(row["by"] <= "2026-12-02" for row in due)
    planner.spec.write_text("[policy]\n")
    assert "nothing is due" in planner.run("plan", "--as-of", AS_OF, "--check").stdout.decode()


def test_what_changed(planner, tmp_path):
    """Protects the reviewer: a changed limit is laid to the spec, by file and by the id of a stored plan."""
    old, new = tmp_path / "old", tmp_path / "new"
    first = plan(planner, "--out", old)
    planner.spec.write_text(planner.spec.read_text().replace("1000000", "1200000"))
    second = plan(planner, "--out", new)
    by_file = planner.json("plan", "diff", old, new / "plan.json")
    assert [change["input"] for change in by_file["inputs"]] == ["spec"]
    limit = next(change for change in by_file["changes"] if change["field"] == "limit")
    assert (limit["old"], limit["new"], limit["causes"]) == (1_000_000, 1_200_000, ["spec"])
    assert {cause for change in by_file["changes"] for cause in change["causes"]} == {"spec"}
    by_id = planner.json("plan", "diff", first["plan_id"], second["plan_id"][:16])
    assert by_id == by_file
    assert "[spec]" in planner.run("plan", "diff", old, new).stdout.decode()
    assert "no plan of this id" in planner.run("plan", "diff", old, "0123456789ab", code=2).stderr.decode()


def test_how_a_figure_came_about(planner, tmp_path):
    """Protects the signer: a figure is derived step by step, and its inputs are those of the request."""
    asked = plan(planner, "--out", tmp_path / "out")["quota_requests"]
    request = next(each for each in asked if each["pool"] == SONNET)
    told = plan(planner, "--explain", SONNET, request["dimension"])[0]
    assert told["derivation"] == request["evidence"]["derivation"]
    assert told["inputs"] == request["evidence"]["inputs"]
    draws = [each for each in told["inputs"] if each["source"].startswith("sql/plan/") and each["n"]]
    assert draws and all({"from", "to"} <= set(each["parameters"]) for each in draws)
    shown = planner.run("plan", "--as-of", AS_OF, "--explain", SONNET, request["dimension"]).stdout.decode()
    assert "step by step" in shown and draws[0]["source"] in shown
    said = planner.run("plan", "--as-of", AS_OF, "--explain", SONNET, "input_token_per_min", code=2).stderr.decode()
    assert "did you mean" in said, said


def test_a_first_spec(company, tmp_path):
    """Protects the first day: a spec from the lake names every pool, can be planned with, and is never
    written over."""
    spec = tmp_path / "plan.toml"
    company.run("plan", "--init", "--spec", spec, "--as-of", AS_OF)
    text = spec.read_text()
    made = company.json("plan", "--spec", spec, "--as-of", AS_OF)
    assert {pool["pool"] for pool in made["pools"]} >= {SONNET} and f'key = "{SONNET}"' in text
    said = company.run("plan", "--init", "--spec", spec, "--as-of", AS_OF, code=2).stderr.decode()
    assert "left alone" in said and spec.read_text() == text


def test_limits_are_imported(planner, tmp_path):
    """Protects the spec: the provider's own list becomes a dated line, shown first and written when asked."""
    headers = tmp_path / "headers.txt"
    headers.write_text("anthropic-ratelimit-input-tokens-limit: 2000000\nanthropic-ratelimit-requests-limit: 4000\n")
    line = ("limits", "import", headers, "--from", "2026-11-02")
    assert "--pool" in planner.run(*line, code=2).stderr.decode()
    before = planner.spec.read_text()
    shown = planner.run(*line, "--pool", SONNET)
    assert b"+" in shown.stdout and b"same" in shown.stderr and planner.spec.read_text() == before
    told = planner.json(*line, "--pool", SONNET, "--write")
    assert [limit["dimension"] for limit in told["written"]] == ["input_tokens_per_min"]
    assert 'input_tokens_per_min = 2000000, from = "2026-11-02"' in planner.spec.read_text()
    assert planner.json(*line, "--pool", SONNET)["patch"] == ""


@pytest.mark.parametrize(
    "text, line, hint",
    [
        ("version = 2\n", 1, "reads version 1"),
        ("[policy]\nheadroom = -0.1\n", 2, "negative"),
        (f"[[pool]]\nkey = '{SONNET}'\nfallback = {{ pool = '{SONNET}' }}\n", 3, "the pool itself"),
        (f"[[pool]]\nkey = '{SONNET}'\nlimits = [{{ requests_per_min = 0 }}]\n", 3, "is zero"),
        (
            "".join(
                f"[[event]]\nname = '{name}'\nwhen = 'last business day of month, 09:00-12:00'\n"
                "workflows = { invoice-reconciliation = { in_flight = 40 } }\n"
                for name in "ab"
            ),
            5,
            "at the same time as event `a`",
        ),
    ],
)
def test_a_spec_that_cannot_be_planned_with(planner, text, line, hint):
    """Protects owners of plan.toml: exit code 2, the line, and what to do."""
    planner.spec.write_text(text)
    said = planner.run("plan", "--as-of", AS_OF, code=2).stderr.decode()
    assert f"plan.toml:{line}: " in said and hint in said, said


def test_a_ledger_that_contradicts_itself(planner):
    """Protects owners of ledger.toml: exit code 2 and the line, not a plan."""
    planner.ledger.write_text(
        f"[[request]]\npool = '{SONNET}'\ndimension = 'requests_per_min'\nasked = 5\n"
        "filed = '2026-08-02'\ndecided = '2026-08-01'\ngranted = 5\n"
    )
    said = planner.run("plan", "--as-of", AS_OF, code=2).stderr.decode()
    assert "ledger.toml:6: " in said and "before it was filed" in said, said
