"""Upkeep from the command line: copying out, verifying, merging files and erasing, and the crashes in between."""

import csv
import hashlib
import resource
import subprocess
import time

import duckdb
import pyarrow.parquet
import pytest

from support.command import environment
from support.readers import attach, connect

# Enough rows that an export of them takes a while, in any build.
MANY = "SELECT value AS n, value % 7 AS digit, 'text ' || value AS text FROM generate_series(1, 1000000)"


def sha256(file):
    """Digest of a file's bytes."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def names(folder):
    """Everything in a folder, hidden files too."""
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def out(tmp_path):
    """An empty folder to export to."""
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("table", ["spans", "runs", "draw", "run_profiles", "snapshots", "plans"])
def test_an_export_is_the_table(company, out, table):
    """Protects copies: Parquet, CSV and JSON hold the rows that the table holds, and all of them."""
    duck = attach(connect(), company.lake, table)
    for ending, read in (("parquet", "read_parquet"), ("csv", "read_csv"), ("json", "read_json")):
        company.run("export", table, "--to", out / f"{table}.{ending}")
        rows = duck.execute(f"SELECT count(*) FROM {read}('{out / table}.{ending}')").fetchone()[0]
        assert rows == duck.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    described = duck.execute(f"SELECT column_name, column_type FROM (DESCRIBE {table})").fetchall()
    # Maps cannot be compared in sets; as JSON text they can.
    columns = ", ".join(
        f"CAST(to_json({name}) AS VARCHAR)" if "MAP" in kind or "[]" in kind else name for name, kind in described
    )
    copied, stored = f"SELECT {columns} FROM read_parquet('{out / table}.parquet')", f"SELECT {columns} FROM {table}"
    for left, right in ((copied, stored), (stored, copied)):
        assert duck.execute(f"({left}) EXCEPT ALL ({right}) LIMIT 3").fetchall() == []
    assert names(out) == [f"{table}.csv", f"{table}.json", f"{table}.parquet"], "nothing but the files asked for"


def test_an_export_is_in_order(company, out):
    """Protects readers of a copy: rows come by day, then in the table's own order."""
    company.run("export", "runs", "--to", out / "runs.parquet")
    table = pyarrow.parquet.read_table(out / "runs.parquet", columns=["start_day", "workflow", "start_time", "run_id"])
    rows = [tuple(row.values()) for row in table.to_pylist()]
    assert len(rows) > 100
    assert rows == sorted(rows, key=lambda row: (row[0], row[1] is None, row[1] or "", *row[2:]))


def test_a_rerun_gives_the_same_bytes(company, out):
    """T36: exporting again gives the same bytes, whatever is exported and into which format."""
    query = "SELECT workflow, avg(duration_ms) AS mean, sum(model_ms) AS model FROM runs GROUP BY workflow"
    for *what, ending in (["spans", "parquet"], ["spans", "csv"], ["draw", "json"], ["--query", query, "csv"]):
        file = out / f"copy.{ending}"
        digests = set()
        for _ in range(2):
            company.run("export", *what, "--to", file)
            digests.add(sha256(file))
        assert len(digests) == 1, (what, ending)


def test_a_query_keeps_its_order_and_breaks_its_ties(company, out):
    """T36: the order of a query stands, and rows that it calls equal come in one order all the same."""
    query = "SELECT value % 3 AS third, -value AS n FROM generate_series(1, 50) ORDER BY third DESC"
    company.run("export", "--query", query, "--to", out / "rows.csv")
    with (out / "rows.csv").open() as file:
        rows = [(int(row["third"]), int(row["n"])) for row in csv.DictReader(file)]
    assert rows == sorted(((n % 3, -n) for n in range(1, 51)), key=lambda row: (-row[0], row[1]))
    statement = out / "first.sql"
    statement.write_text("SELECT run_id FROM runs ORDER BY workflow LIMIT 5; -- which five is not by chance\n")
    found = set()
    for _ in range(2):
        company.run("export", "-f", statement, "--to", out / "first.csv")
        found.add((out / "first.csv").read_text())
    assert len(found) == 1 and len(found.pop().splitlines()) == 6


def test_a_time_is_cut_out(company, out):
    """Protects monthly copies: --from and --until take a half-open time."""
    middle = company.one("SELECT CAST(approx_percentile_cont(start_unix_nano, 0.5) AS BIGINT) AS at FROM spans")["at"]
    edge = time.strftime("%Y-%m-%dT%H:00:00Z", time.gmtime(middle // 1_000_000_000))
    rows = [
        company.json("export", "spans", "--to", out / "rows.json", *bounds)["rows"]
        for bounds in ([], ["--until", edge], ["--from", edge])
    ]
    assert rows[0] == rows[1] + rows[2] and rows[1] > 0 and rows[2] > 0
    earliest = duckdb.sql(f"SELECT min(start_time)::VARCHAR FROM '{out / 'rows.json'}'").fetchone()[0]
    assert earliest.replace(" ", "T")[:19] >= edge[:19]
    company.run("export", "runs", "--to", out / "none.csv", "--from", "2050-01-01T00:00:00Z")
    assert (out / "none.csv").read_text().startswith("run_id,"), "a header, though there is no row"


def test_a_spreadsheet_runs_nothing(plimsoll, out):
    """Protects whoever opens a CSV: text that looks like a formula is led by an apostrophe, as in `sql`."""
    query = "SELECT '=1+1' AS danger, -2.5 AS negative, substr('x@SUM(A1)', 2) AS cut"
    plimsoll.run("export", "--query", query, "--to", out / "rows.csv")
    with (out / "rows.csv").open() as file:
        assert list(csv.reader(file)) == [["danger", "negative", "cut"], ["'=1+1", "-2.5", "'@SUM(A1)"]]


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["rnus", "--to", "x.csv"], "no table is called rnus"),
        (["runs", "--to", "x.xlsx"], "--format"),
        (["runs", "--to", "nowhere/x.csv"], "nowhere"),
        (["runs", "--to", "folder"], "not a file"),
        (["--query", "SELECT 1; SELECT 2", "--to", "x.csv"], "one query"),
        (["--query", "DROP TABLE runs", "--to", "x.csv"], "DDL"),
        (["--query", "SELECT workflw FROM runs", "--to", "x.csv"], "workflw"),
    ],
)
def test_mistakes_are_told(plimsoll, arguments, hint):
    """Protects people: what cannot be exported is one sentence, exit code 2, and no file."""
    (plimsoll.folder / "folder").mkdir()
    arguments = [*arguments, "--format", "csv"] if arguments[-1] == "folder" else arguments
    said = plimsoll.run("export", *arguments, code=2).stderr.decode()
    assert hint in said and said.startswith("plimsoll: ") and said.count("\n") == 1, said
    assert not {"x.csv", "x.xlsx", ".x.csv.partial"} & set(names(plimsoll.folder))


def limited(size):
    """Makes a child whose files end at `size` bytes with an error, as on a disk that is full."""

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    # Python ignores SIGXFSZ; without `restore_signals` the child does too, and sees an error instead.
    return {"preexec_fn": limit, "restore_signals": False}


@pytest.mark.parametrize("ending", ["parquet", "csv", "json"])
def test_a_full_disk_leaves_nothing_behind(company, out, ending):
    """T36: the disk is full at half of the file: an error, no file of that name, none half-written; then a rerun
    gives the bytes that it would have given, and where there was a file it stays as it was."""
    whole = out / f"spans.{ending}"
    company.run("export", "spans", "--to", whole)
    digest, half = sha256(whole), whole.stat().st_size // 2

    def export():
        line = [company.binary, "--lake", company.lake, "export", "spans", "--to", whole]
        return subprocess.run(
            line, cwd=out, env=environment(), capture_output=True, timeout=240, check=False, **limited(half)
        )

    for before in (digest, None):
        if before is None:
            whole.unlink()
        done = export()
        said = done.stderr.decode()
        assert done.returncode == 1 and not done.stdout, said
        assert said.startswith(f"plimsoll: {whole} was not written: ") and said.count("\n") == 1, said
        assert names(out) == ([whole.name] if before else [])
        assert before is None or sha256(whole) == before
    company.run("export", "spans", "--to", whole)
    assert sha256(whole) == digest
    assert names(out) == [whole.name]


def test_a_small_disk_leaves_nothing_behind(plimsoll, out):
    """T36 on a real file system: a tmpfs of 1 MiB, where the machine lets us mount one."""
    if subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "none", out], capture_output=True).returncode:
        pytest.skip("no mounts in a namespace of one's own here")
    query = plimsoll.folder / "many.sql"
    query.write_text(MANY)
    export = f"{plimsoll.binary} --lake {plimsoll.lake} export -f {query} --to {out}/rows.csv"
    script = f"mount -t tmpfs -o size=1m none {out}; {export}; code=$?; ls -A {out}; exit $code"
    done = subprocess.run(["unshare", "-rm", "sh", "-c", script], env=environment(), capture_output=True, timeout=240)
    assert done.returncode == 1, done.stderr
    assert b"No space left" in done.stderr and done.stderr.count(b"\n") == 1, done.stderr
    assert done.stdout == b"", "a leftover"


def test_an_export_that_is_killed_leaves_no_name(plimsoll, out):
    """T36: kill -9 in the middle leaves no file of that name; a rerun clears up and gives every row once."""
    file, partial = out / "rows.csv", out / ".rows.csv.partial"
    line = [plimsoll.binary, "--lake", plimsoll.lake, "export", "--query", MANY, "--to", file]
    process = subprocess.Popen(line, cwd=out, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 120
    while not (partial.exists() and partial.stat().st_size > 1 << 20):
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.005)
    process.kill()
    process.wait(timeout=30)
    assert names(out) == [".rows.csv.partial"]
    plimsoll.run("export", "--query", MANY, "--to", file)
    assert names(out) == ["rows.csv"]
    rows, distinct = duckdb.sql(f"SELECT count(*), count(DISTINCT n) FROM '{file}'").fetchone()
    assert rows == distinct == 1_000_000
