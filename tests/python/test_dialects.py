"""Every capture of a real client against what its provider billed, and the page that says so.

`pytest tests/python/test_dialects.py --write-docs` writes docs/dialects.md anew; without it the page must be what
the captures give.
"""

import os
from pathlib import Path

import pytest

from support import captures as of
from support.command import Plimsoll
from support.spans import JSON, PROTOBUF, send

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "dialects.md"
CONTENT_TYPES = {".pb": PROTOBUF, ".json": JSON}
BEGINNING = """# Dialects against the truth

Real clients ran one agent against a stand-in for the providers, whose own log is the truth; then Plimsoll read
what they had sent. This page is made by `tests/python/test_dialects.py`, which fails when it no longer holds.

A capture has three runs; the second is the awkward one, with retries by the application and a stream that is not
asked for its usage. Each column of a run is in one of these places:

* **exact**: told by the client, and equal to what was billed, in all of the capture's runs
* **null**: not told, therefore null; where runs are named, only in those, and right in the others
* **marked**: a count that this client is known to get wrong, with `misreported` in `quality`
* **no span**: calls that the client does not instrument, of which nothing can know

Columns: {columns}.

"""
ENDING = """
## What to do about it

`plimsoll doctor` says it for your own services, with their numbers.

"""
REMEDIES = {
    "usage of some calls": (
        'most often streams: `stream_options={"include_usage": true}` (OpenAI), `stream_usage=True` (LangChain);'
        " or a newer instrumentation"
    ),
    "single calls": "instrument the client library below the framework",
    "its model calls": "instrument the client library below the framework, or upgrade its instrumentation",
    "its library's retries": "instrument the HTTP client too, or retry in the application",
    "tool executions": "trace them: `execute_tool` spans, or the framework's instrumentor",
    "some counts (it sends wrong ones)": (
        "upgrade the instrumentation: `plimsoll explain` says which count is doubted, and by which rule"
    ),
    "columns that are null without any of these": (
        "the client does not send the detail: `OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental`,"
        " or a newer version"
    ),
    "calls without a span": "a newer version, or an instrumentation of that API",
}


@pytest.fixture(scope="module")
def read_captures(binary, tmp_path_factory):
    """All captures that are here, sent to one server: their traces have different ids."""
    folder = Path(os.environ.get("PLIMSOLL_SHARED", ROOT.parent / "shared")) / "corpus"
    told = folder / "DETERMINABLE.json"
    shared = of.read(folder, of.json.loads(told.read_text())) if told.is_file() else []
    if not shared:
        print(f"skipped: no shared captures at {folder}")
    captures = shared + of.read(ROOT / "tests" / "captures")
    if not captures:
        pytest.skip("there are no captures here")
    plimsoll = Plimsoll(binary, tmp_path_factory.mktemp("captures"))
    (plimsoll.folder / "plimsoll.toml").write_text(
        f'[[run]]\nid = "{of.RUN_ATTRIBUTE}"\nmatch = {{ "{of.RUN_ATTRIBUTE}" = "*" }}\n'
    )
    with plimsoll.serve() as server:
        for capture in captures:
            for body in capture.bodies:
                answer = send(server, capture.sent(body), CONTENT_TYPES[body.suffix], f"/v1/{of.signal(body)}")
                assert answer.status == 200, (body, answer.text)
    plimsoll.run("profile")
    of.fill(captures, plimsoll)
    return captures, bool(shared)


def test_captures_count_as_billed(read_captures):
    """What a client can tell is exact; what it cannot is null, or right, or marked, and never plainly wrong."""
    faults = []
    for capture in read_captures[0]:
        for run in capture.runs:
            where = f"{capture.name} run {run.truth['run']}"
            if not run.rows:
                faults.append(f"{where}: is not there")
                continue
            for column, true in of.TRUTH.items():
                verdict = run.verdict(column)
                if verdict == "wrong" or (column in run.exact and verdict != "right"):
                    faults.append(f"{where}: {column} is {run.got(column)}, billed {true(run.truth)} ({verdict})")
    assert not faults, "\n".join([f"{len(faults)} faults", *faults])


def test_workflows_are_named(read_captures):
    """Each run has one name, however many rows it is, and none where nothing but a single call names it."""
    for capture in read_captures[0]:
        for run in capture.runs:
            names = {row["workflow"] for row in run.rows}
            assert len(names) == 1, (capture.name, names)


def test_page(read_captures, request):
    """docs/dialects.md says what the captures give."""
    captures, with_shared = read_captures
    made = page(captures)
    if request.config.getoption("--write-docs"):
        PAGE.write_text(made)
    if not with_shared:
        pytest.skip("the page needs the shared captures too")
    assert PAGE.read_text() == made, "docs/dialects.md is not what the captures give: run with --write-docs"


def page(captures):
    """The page."""
    lines = ["| capture | recorded by | exact | null | marked | no span | not sent |", "|---|---|---|---|---|---|---|"]
    for capture in sorted(captures, key=lambda capture: capture.name):
        codes = {code for run in capture.runs for code in run.quality}
        lacks = sorted({text for code, text in of.LACKS.items() if code in codes})
        exact = [column for column in of.TRUTH if {run.verdict(column) for run in capture.runs} == {"right"}]
        cells = [
            capture.name,
            "<br>".join(capture.clients),
            " ".join(f"`{column}`" for column in exact),
            *(by_run(capture, verdict) for verdict in ("null", "marked", "uninstrumented")),
            "; ".join(lacks),
        ]
        lines.append("| " + " | ".join(cell or "-" for cell in cells) + " |")
    columns = ", ".join(f"`{column}`" for column in of.TRUTH)
    remedies = ["| not sent | remedy |", "|---|---|", *(f"| {lack} | {what} |" for lack, what in REMEDIES.items())]
    return BEGINNING.format(columns=columns) + "\n".join(lines) + "\n" + ENDING + "\n".join(remedies) + "\n"


def by_run(capture, verdict):
    """The columns of which a verdict holds, and in which runs if not in all."""
    columns = {}
    for column in of.TRUTH:
        runs = [run.truth["run"] for run in capture.runs if run.verdict(column) == verdict]
        if runs:
            columns.setdefault(tuple(runs), []).append(f"`{column}`")
    parts = []
    for runs, names in sorted(columns.items(), key=lambda item: -len(item[0])):
        where = "" if len(runs) == len(capture.runs) else f"run {', '.join(map(str, runs))}: "
        parts.append(where + " ".join(names))
    return "<br>".join(parts)
