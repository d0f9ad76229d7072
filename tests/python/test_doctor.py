"""`plimsoll doctor` and the codes of quality: what is wrong with telemetry is counted, named and put into words
that help."""

import csv
import io
import re
import tomllib
from pathlib import Path

import pytest

from support.spans import NOON, SECOND, agent, attributes, chat, request, span

ROOT = Path(__file__).resolve().parents[2]
MINUTE = 60 * SECOND


def ingest(plimsoll, spans, service="support-copilot", name="spans.pb"):
    """Puts spans into the lake and makes its runs."""
    (plimsoll.folder / name).write_bytes(request(spans, service).SerializeToString())
    plimsoll.run("ingest", name)
    plimsoll.run("profile")


def told(at, **more):
    """A run of one call that tells everything."""
    root = agent("answer-ticket", start=NOON + at * MINUTE, seconds=3)
    call = chat(
        root,
        1_000,
        50,
        start=NOON + at * MINUTE + SECOND,
        gen_ai__usage__cache_read__input_tokens=0,
        gen_ai__usage__cache_write__input_tokens=0,
        gen_ai__usage__reasoning__output_tokens=0,
        gen_ai__request__max_tokens=500,
        http__request__resend_count=0,
        **more,
    )
    return [root, call]


def silent(at):
    """A run whose call streams and tells no tokens."""
    root, call = told(at, gen_ai__request__stream=True)
    kept = [each for each in call.attributes if not each.key.startswith("gen_ai.usage.")]
    del call.attributes[:]
    call.attributes.extend(kept)
    return [root, call]


def test_no_telemetry(plimsoll):
    """Without telemetry there is no advice, and that is not the same as nothing to mend."""
    done = plimsoll.run("doctor", code=3)
    assert b"no telemetry" in done.stderr and not done.stdout


def test_nothing_to_mend(plimsoll):
    """Telemetry that tells everything is left in peace."""
    ingest(plimsoll, [each for at in range(24) for each in told(at)])
    assert b"nothing to mend" in plimsoll.run("doctor").stdout, plimsoll.run("doctor", "--all").stdout.decode()
    assert plimsoll.json("doctor") == []


def test_streams_without_usage(plimsoll):
    """The example of the design: the share of a service's calls, with its n, and what to set."""
    spans = [each for at in range(22) for each in told(at)] + [each for at in range(22, 25) for each in silent(at)]
    ingest(plimsoll, spans)
    first = plimsoll.json("doctor")[0]
    assert (first["check"], first["service"], first["n"], first["of"]) == (
        "streams_without_usage",
        "support-copilot",
        3,
        25,
    )
    page = plimsoll.run("doctor").stdout.decode()
    assert "12 % of support-copilot's calls stream without usage" in page
    assert "n = 3 of 25 calls" in page and "include_usage" in page
    assert plimsoll.json("doctor", "--service", "another") == []
    assert plimsoll.json("doctor", "--since", "2027-01-01") == []


def test_double_instrumentation_is_named(plimsoll):
    """Which two instrumentations may have recorded one call is said, so that one of them can be turned off."""
    plimsoll.run("ingest", ROOT / "tests" / "torture" / "T03-two-instrumentations" / "1-body.json")
    plimsoll.run("profile")
    advice = next(each for each in plimsoll.json("doctor") if each["check"] == "double_instrumentation")
    assert (advice["n"], advice["of"]) == (1, 3)
    assert "openinference.instrumentation.openai and opentelemetry.instrumentation.openai_v2" in advice["says"]


def test_dialects_have_words_of_their_own(plimsoll):
    """What is to be done depends on the client; what does not is said once for all of them."""
    shared = {"openinference.span.kind": "LLM", "llm.provider": "openai", "llm.model_name": "gpt-4.1"}
    spans = []
    for at in range(3):
        root = agent("answer-ticket", start=NOON + at * MINUTE, seconds=3)
        silent_call = span("ChatCompletion", trace_id=root.trace_id, parent=root.span_id, start=NOON + at * MINUTE)
        silent_call.attributes.extend(attributes(shared))
        spans += [root, silent_call]
    ingest(plimsoll, spans + [each for at in range(3, 6) for each in silent(at)])
    found = {(each["check"], each["dialect"]): each for each in plimsoll.json("doctor")}
    assert "openinference instrumentor" in found["calls_without_usage", "openinference"]["mend"]
    assert found["streams_without_usage", "otel-genai"]["of"] == 6
    assert ("attempts_hidden", "openinference") in found


@pytest.mark.parametrize(
    ("check", "provider", "model", "pool"),
    [
        ("pools_unknown", "acme", "acme-large", "acme/direct/global/acme-large"),
        ("deployments_unnamed", "azure.ai.openai", "support", "azure.ai.openai/standard/datazone/gpt-5.2"),
    ],
)
def test_deployment_rule_can_be_pasted(plimsoll, check, provider, model, pool):
    """The rule that is offered for a model of no known pool gives its calls theirs."""
    root = agent("answer-ticket")
    answered = {"gen_ai__response__model": "gpt-5.2-2025-12-11"}
    ingest(plimsoll, [root, chat(root, 1_000, 50, model=model, provider=provider, **answered)])
    advice = next(each for each in plimsoll.json("doctor") if each["check"] == check)
    rule = advice["mend"].partition("\n")[2]
    plimsoll.config(rule.replace(f"{provider}/PRODUCT/SCOPE/MODEL", pool))
    plimsoll.run("profile")
    assert plimsoll.one("SELECT pool FROM model_calls")["pool"] == pool
    assert all(each["check"] != check for each in plimsoll.json("doctor"))


def test_hostile_names(plimsoll):
    """A service's name is text: it fills no template, starts no formula and breaks no line of CSV."""
    name = '=HYPERLINK("{n}"),{of}'
    root = agent("answer-ticket")
    ingest(plimsoll, [root, chat(root, 10, 5)], service=name)
    assert {each["service"] for each in plimsoll.json("doctor")} == {name}
    rows = list(csv.DictReader(io.StringIO(plimsoll.run("--format", "csv", "doctor").stdout.decode())))
    assert {row["service"] for row in rows} == {"'" + name}
    assert any(name in row["says"] for row in rows)


def test_example_company(company):
    """Advice on the example company: ranked, each share with its n, and cut to what one reads."""
    found = company.json("doctor")
    assert [each["cost"] for each in found] == sorted((each["cost"] for each in found), reverse=True)
    assert all(0 < each["n"] <= each["of"] and each["mend"] for each in found)
    assert all(not re.search(r"\{\w+\}", each["says"] + each["mend"]) for each in found), found
    page = company.run("doctor").stdout.decode()
    assert page.count(" (n = ") + page.count(", n = ") == min(len(found), 10)
    assert ("--all" in page) == (len(found) > 10)


def test_codes_are_documented(plimsoll):
    """Every code that a span, a run or a job can give has a sentence, and no sentence is about none."""
    written = set()
    for file in ("crates/otlp/src/quality.rs", "crates/assembly/src/quality.rs"):
        written |= set(re.findall(r'const [A-Z_0-9]+: &str = "([a-z_0-9]+)";', (ROOT / file).read_text()))
    for file in (ROOT / "schemas" / "dialects").glob("*.toml"):
        written |= {mark["code"] for mark in tomllib.loads(file.read_text()).get("mark", [])}
    job = (ROOT / "sql" / "jobs" / "80_quality.sql").read_text()
    told = re.findall(r"'reason', '([a-z_]+)'|'([a-z_]+)' AS reason", job)
    written |= {code for pair in told for code in pair if code} | {"open", "orphan", "quarantined.time_out_of_range"}
    documented = {row["code"] for row in plimsoll.sql("SELECT code FROM quality_codes")}
    assert written == documented
