"""`plimsoll sql`: read-only, in every output format, for people and scripts."""

import csv
import io
import json

import pyarrow.parquet
import pytest


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE t (a INT)",
        "CREATE TABLE t AS SELECT * FROM runs",
        "CREATE VIEW v AS SELECT 1",
        "CREATE EXTERNAL TABLE passwd STORED AS CSV LOCATION '/etc/passwd'",
        "INSERT INTO runs SELECT * FROM runs",
        "UPDATE runs SET workflow = 'x'",
        "DELETE FROM runs",
        "DROP TABLE runs",
        "DROP VIEW draw",
        "COPY runs TO '{out}'",
        "COPY (SELECT 1) TO '{out}' STORED AS PARQUET",
        "SET datafusion.execution.batch_size = 1",
    ],
)
def test_nothing_is_changed(company, tmp_path, statement):
    """Protects the lake and the machine: whatever would write or leave the lake is refused, exit code 2."""
    out = tmp_path / "out.csv"
    said = company.run("sql", statement.format(out=out), code=2).stderr.decode()
    assert said.startswith("plimsoll: ") and "panicked" not in said
    assert not out.exists()


@pytest.mark.parametrize("query", ["SELECT * FROM '/etc/passwd'", "SELECT * FROM read_csv('/etc/passwd')"])
def test_no_file_is_read(company, query):
    """Protects the machine's files: SQL sees tables of the lake only."""
    company.run("sql", query, code=2)


def test_mistakes_are_told(company):
    """Protects analysts: a wrong query is one plain line that names what is wrong."""
    for query, hint in [("SELEC 1", "SELEC"), ("SELECT workflw FROM runs", "workflw"), ("SELECT * FROM rnus", "rnus")]:
        said = company.run("sql", query, code=2).stderr.decode()
        assert hint in said and said.count("\n") == 1, said


def test_json(company):
    """Protects scripts: an array of objects, empty where there is no row, nulls said, numbers whole."""
    assert company.sql("SELECT 1 AS one, NULL AS nothing, 9007199254740993 AS large") == [
        {"one": 1, "nothing": None, "large": 9007199254740993}
    ]
    assert company.sql("SELECT run_id FROM runs WHERE false") == []
    rows = company.sql("SELECT workflow, count(*) AS runs FROM runs GROUP BY workflow ORDER BY workflow")
    assert [row["workflow"] for row in rows] == [
        "crm-enrichment",
        "invoice-reconciliation",
        "nightly-evals",
        "support-copilot",
    ]


def test_csv(company):
    """Protects spreadsheets: a header, and no text that a spreadsheet would run."""
    text = company.run("--format", "csv", "sql", "SELECT '=1+1' AS danger, 5 AS five, -2.5 AS negative").stdout.decode()
    assert list(csv.reader(io.StringIO(text))) == [["danger", "five", "negative"], ["'=1+1", "5", "-2.5"]]


def test_parquet(company):
    """Protects pipelines: the rows as a Parquet file on stdout, with their types."""
    written = company.run("--format", "parquet", "sql", "SELECT run_id, start_time, input_tokens FROM runs").stdout
    table = pyarrow.parquet.read_table(io.BytesIO(written))
    assert table.num_rows == company.one("SELECT count(*) AS n FROM runs")["n"]
    assert str(table.schema.field("input_tokens").type) == "int64"
    assert str(table.schema.field("start_time").type).startswith("timestamp[us")


def test_table(company):
    """Protects people: a table with its number of rows."""
    text = company.run("sql", "SELECT DISTINCT workflow FROM runs ORDER BY workflow").stdout.decode()
    assert "support-copilot" in text and "4 rows" in text


def test_files_and_stdin(company, tmp_path):
    """Protects -f: several statements, semicolons in strings, and stdin."""
    file = tmp_path / "two.sql"
    file.write_text("SELECT ';' AS semicolon; -- a comment; with one\nSELECT 2 AS two;\n")
    for arguments, stdin in ((("-f", file), None), (("-f", "-"), file.read_bytes())):
        said = company.run("--format", "json", "sql", *arguments, input=stdin).stdout.decode()
        assert [json.loads(line) for line in said.split("\n") if line] == [[{"semicolon": ";"}], [{"two": 2}]]


def test_prompt(company):
    """Protects the prompt: statements over lines, listings, and a mistake that does not end it."""
    typed = b"\\d\n\\d runs\nSELECT count(*) AS n\nFROM runs;\nSELECT nonsense;\nSELECT 42 AS answer;\n\\q\n"
    done = company.run("sql", input=typed)
    text = done.stdout.decode()
    for expected in ("run_profiles", "unique_spans", "input_tokens", "42"):
        assert expected in text, expected
    assert "nonsense" in done.stderr.decode()


def test_an_empty_lake_answers(plimsoll):
    """Protects the first minute: tables are there, and empty, before anything was received."""
    assert plimsoll.sql("SELECT count(*) AS n FROM runs") == [{"n": 0}]
    assert plimsoll.sql("SELECT 1 AS one") == [{"one": 1}]


def test_every_example_runs(company):
    """Protects sql/examples: each query that we show runs on the example company."""
    from conftest import ROOT

    examples = sorted((ROOT / "sql" / "examples").glob("*.sql"))
    assert examples
    for example in examples:
        assert company.json("sql", "-f", example), f"{example.name} finds nothing"


def test_checks_hold(company):
    """Protects the invariants of the tables: files are whole and no row contradicts another."""
    assert company.json("check") == []
