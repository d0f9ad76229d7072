"""Upkeep from the command line: copying out, verifying, merging files and erasing, and the crashes in between."""

import csv
import hashlib
import json
import random
import resource
import shutil
import subprocess
import time

import duckdb
import pyarrow.parquet
import pytest

from support.command import Plimsoll, environment
from support.readers import attach, connect, pandas
from support.spans import agent, chat, post, request

# Enough rows that an export of them takes a while, in any build.
MANY = "SELECT value AS n, value % 7 AS digit, 'text ' || value AS text FROM generate_series(1, 1000000)"


def sha256(file):
    """Digest of a file's bytes."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def names(folder):
    """Everything in a folder, hidden files too."""
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def empty(plimsoll):
    """The command with a lake that nothing was received in."""
    plimsoll.lake.mkdir()
    return plimsoll


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


def test_a_spreadsheet_runs_nothing(empty, out):
    """Protects whoever opens a CSV: text that looks like a formula is led by an apostrophe, as in `sql`."""
    query = "SELECT '=1+1' AS danger, -2.5 AS negative, substr('x@SUM(A1)', 2) AS cut"
    empty.run("export", "--query", query, "--to", out / "rows.csv")
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
def test_mistakes_are_told(empty, arguments, hint):
    """Protects people: what cannot be exported is one sentence, exit code 2, and no file."""
    (empty.folder / "folder").mkdir()
    arguments = [*arguments, "--format", "csv"] if arguments[-1] == "folder" else arguments
    said = empty.run("export", *arguments, code=2).stderr.decode()
    assert hint in said and said.startswith("plimsoll: ") and said.count("\n") == 1, said
    assert not {"x.csv", "x.xlsx", ".x.csv.partial"} & set(names(empty.folder))


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


def test_a_small_disk_leaves_nothing_behind(empty, out):
    """T36 on a real file system: a tmpfs of 1 MiB, where the machine lets us mount one."""
    if subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "none", out], capture_output=True).returncode:
        pytest.skip("no mounts in a namespace of one's own here")
    query = empty.folder / "many.sql"
    query.write_text(MANY)
    export = f"{empty.binary} --lake {empty.lake} export -f {query} --to {out}/rows.csv"
    script = f"mount -t tmpfs -o size=1m none {out}; {export}; code=$?; ls -A {out}; exit $code"
    done = subprocess.run(["unshare", "-rm", "sh", "-c", script], env=environment(), capture_output=True, timeout=240)
    assert done.returncode == 1, done.stderr
    assert b"No space left" in done.stderr and done.stderr.count(b"\n") == 1, done.stderr
    assert done.stdout == b"", "a leftover"


def test_an_export_that_is_killed_leaves_no_name(empty, out):
    """T36: kill -9 in the middle leaves no file of that name; a rerun clears up and gives every row once."""
    file, partial = out / "rows.csv", out / ".rows.csv.partial"
    line = [empty.binary, "--lake", empty.lake, "export", "--query", MANY, "--to", file]
    process = subprocess.Popen(line, cwd=out, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 120
    while not (partial.exists() and partial.stat().st_size > 1 << 20):
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.005)
    process.kill()
    process.wait(timeout=30)
    assert names(out) == [".rows.csv.partial"]
    empty.run("export", "--query", MANY, "--to", file)
    assert names(out) == ["rows.csv"]
    rows, distinct = duckdb.sql(f"SELECT count(*), count(DISTINCT n) FROM '{file}'").fetchone()
    assert rows == distinct == 1_000_000


DERIVED = ("runs", "model_calls", "attempts")
# Whose runs the small lake below holds: who, and how many.
ACME, GLOBEX, INITECH = 30, 20, 10


def ingest(plimsoll, *spans):
    """Brings spans into the lake, as one file of the table."""
    body = plimsoll.folder / f"body-{time.monotonic_ns()}.pb"
    body.write_bytes(request(spans).SerializeToString())
    plimsoll.run("ingest", body)
    body.unlink()


def run_of(tenant, user, session):
    """A run of two model calls; only its root says whose it is."""
    root = agent("desk", plimsoll__tenant=tenant, user__id=user, session__id=session)
    return [root, chat(root, 100, 10), chat(root, 200, 20)]


@pytest.fixture(scope="module")
def made(binary, tmp_path_factory):
    """A small lake: three tenants, three users and two sessions each, in twelve files, jobs run in between."""
    plimsoll = Plimsoll(binary, tmp_path_factory.mktemp("desk"))
    runs = [("acme", ACME), ("globex", GLOBEX), ("initech", INITECH)]
    runs = [run_of(tenant, f"{tenant}-u{n % 3}", f"{tenant}-s{n % 2}") for tenant, count in runs for n in range(count)]
    random.Random(7).shuffle(runs)
    for at in range(12):
        ingest(plimsoll, *(span for run in runs[at::12] for span in run))
        if at == 5:
            plimsoll.run("profile")
    plimsoll.run("profile")
    return plimsoll


@pytest.fixture
def desk(made, plimsoll):
    """A copy of the small lake that a test may change."""
    shutil.copytree(made.lake, plimsoll.lake)
    return plimsoll


def tree(folder):
    """Every path of a folder with what it holds."""
    return {
        path.relative_to(folder): (path.stat().st_mtime_ns, sha256(path) if path.is_file() else None)
        for path in folder.rglob("*")
    }


def rows_by_reader(lake, tables=("spans", *DERIVED)):
    """Rows of each table as DuckDB and as pandas count them: they must agree."""
    duck = attach(connect(), lake, *tables)
    counts = {table: duck.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables}
    assert counts == {table: len(pandas(lake, table)) for table in tables}
    return counts


def interrupted(plimsoll, *arguments, within):
    """Starts a command and kills it with -9 at a random instant of its time; says whether it was killed."""
    line = [plimsoll.binary, "--lake", plimsoll.lake, *arguments]
    process = subprocess.Popen(
        line, cwd=plimsoll.folder, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        process.wait(timeout=within)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(timeout=30)
        return True
    return False


def seconds(plimsoll, *arguments):
    """How long a command takes, on a lake that is then put back as it was."""
    kept = plimsoll.folder / "kept"
    shutil.copytree(plimsoll.lake, kept)
    started = time.monotonic()
    plimsoll.run(*arguments)
    took = time.monotonic() - started
    shutil.rmtree(plimsoll.lake)
    kept.rename(plimsoll.lake)
    return took


def test_a_whole_lake_is_clean_and_stays_as_it_is(desk, tmp_path):
    """Protects `check`: a whole lake has no finding, shallow and deep, and nothing is changed or made by looking."""
    before = tree(desk.lake)
    assert desk.json("check") == []
    assert desk.json("check", "--deep") == []
    assert b"nothing is wrong" in desk.run("check").stdout
    assert tree(desk.lake) == before
    empty = tmp_path / "empty"
    empty.mkdir()
    assert desk.json("--lake", empty, "check", lake=False) == []
    assert names(empty) == []
    said = desk.run("--lake", tmp_path / "nowhere", "check", lake=False, code=2).stderr.decode()
    assert "nowhere" in said and said.count("\n") == 1
    assert not (tmp_path / "nowhere").exists()


def test_a_read_only_lake_is_checked(desk):
    """Protects `check` on a mount that nobody can write, where the machine lets us make one."""
    if subprocess.run(["unshare", "-rm", "mount", "--bind", desk.lake, desk.lake], capture_output=True).returncode:
        pytest.skip("no mounts in a namespace of one's own here")
    mount = f"mount --bind {desk.lake} {desk.lake} && mount -o remount,ro,bind {desk.lake}"
    script = f"{mount} && ! touch {desk.lake}/x 2>/dev/null && {desk.binary} --lake {desk.lake} check --deep"
    done = subprocess.run(["unshare", "-rm", "sh", "-c", script], env=environment(), capture_output=True, timeout=240)
    assert done.returncode == 0 and b"nothing is wrong" in done.stdout, done.stderr


def test_rows_that_contradict_each_other_are_found(desk):
    """Protects sql/checks: a query of a folder of one's own that returns rows is a finding, exit code 4."""
    checks = desk.folder / "sql" / "checks"
    checks.mkdir(parents=True)
    (checks / "no_acme.sql").write_text("-- No run is acme's.\nSELECT run_id FROM runs WHERE tenant = 'acme'\n")
    desk.config('[folders]\nsql = "sql"\n')
    (found,) = json.loads(desk.run("--format", "json", "check", code=4).stdout)
    assert (found["severity"], found["kind"], found["file"]) == ("fault", "check", "sql/checks/no_acme.sql")
    assert str(ACME) in found["what"] and found["what_to_do"]


@pytest.mark.parametrize("damage", ["cut by 1", "cut by 8", "emptied", "PAR1", "gone"])
def test_a_damaged_file_is_named(desk, damage):
    """T34: a damaged file is named with its path by `check` and by the query that meets it; others are read only
    with --skip-damaged, which says how many rows are left."""
    victim = max((desk.lake / "runs").rglob("*.parquet"), key=lambda path: path.stat().st_size)
    whole = victim.read_bytes()
    if damage == "gone":
        victim.unlink()
    else:
        cut = {"cut by 1": whole[:-1], "cut by 8": whole[:-8], "emptied": b"", "PAR1": b"PAR1"}
        victim.write_bytes(cut[damage])
    name = victim.relative_to(desk.lake / "runs").as_posix()
    found = json.loads(desk.run("--format", "json", "check", code=4).stdout)
    assert ("runs", name) in {(each["table"], each["file"]) for each in found if each["severity"] == "fault"}, found
    query = "SELECT run_id FROM runs ORDER BY run_id"
    for arguments in (["sql", query], ["export", "--query", query, "--to", desk.folder / "runs.csv"]):
        said = desk.run(*arguments, code=4).stderr.decode()
        assert f"runs/{name}" in said and "panicked" not in said and said.count("\n") == 1, said
    assert not (desk.folder / "runs.csv").exists()
    assert desk.one("SELECT count(*) AS n FROM model_calls")["n"] == 2 * (ACME + GLOBEX + INITECH), "another table"
    rest = desk.run("--format", "json", "sql", "--skip-damaged", query)
    left = len(json.loads(rest.stdout))
    assert f"only {left} of {ACME + GLOBEX + INITECH} rows" in rest.stderr.decode(), rest.stderr
    assert name in rest.stderr.decode()
    victim.write_bytes(whole)
    assert desk.json("check") == []


def test_small_files_are_merged(desk, out):
    """Protects `compact`: many small files become few, and every reader sees the rows that it saw before."""
    desk.run("export", "spans", "--to", out / "before.parquet")
    before = rows_by_reader(desk.lake)
    untouched = tree(desk.lake)
    planned = {table["table"]: table for table in desk.json("compact", "--dry-run")}
    assert tree(desk.lake) == untouched, "a dry run changes nothing"
    done = {table["table"]: table for table in desk.json("compact")}
    spans = done["spans"]
    assert (spans["files_before"], spans["rows"]) == (12, before["spans"])
    assert planned["spans"]["files_merged"] >= 8 and spans["files_merged"] >= 8
    assert spans["files_after"] < spans["files_before"]
    assert rows_by_reader(desk.lake) == before
    assert desk.json("check", "--deep") == []
    desk.run("profile")
    desk.run("export", "spans", "--to", out / "after.parquet")
    assert sha256(out / "before.parquet") == sha256(out / "after.parquet"), "an export does not show what was merged"
    assert b"spans" in desk.run("compact").stdout


def test_old_rows_leave_when_asked_to(desk):
    """Protects --retain: days that are too old leave the table that is named, and no other."""
    before = rows_by_reader(desk.lake)
    for wrong in ("spans", "spans=soon", "rnus=1d"):
        desk.run("compact", "--retain", wrong, code=2)
    done = {table["table"]: table for table in desk.json("compact", "--retain", "model_calls=1d")}
    assert done["model_calls"]["rows_expired"] == before["model_calls"], "they started weeks ago"
    assert rows_by_reader(desk.lake) == {**before, "model_calls": 0}


def test_compaction_that_is_killed_harms_nothing(desk):
    """T35: kill -9 at any instant of `compact`; every reader sees each row once, then and after the next run."""
    chance, before = random.Random(35), rows_by_reader(desk.lake)
    compact = ("compact", "--keep-versions", "0s")
    took, killed = seconds(desk, *compact), 0
    for _ in range(6):
        killed += interrupted(desk, *compact, within=chance.uniform(0.2, 1.0) * took)
        assert rows_by_reader(desk.lake) == before
    print(f"killed {killed} times")
    assert killed > 0
    desk.run("compact")
    assert rows_by_reader(desk.lake) == before
    assert [each for each in desk.json("check", "--deep") if each["severity"] == "fault"] == []


def receipts(lake):
    """The receipts in a lake."""
    return [path.read_text() for path in sorted((lake / "_plimsoll" / "erasures").glob("*.json"))]


def test_a_tenant_is_erased(desk):
    """Protects erasure: what is theirs leaves every table, what is others' stays, and a receipt says so without
    saying who it was."""
    untouched = tree(desk.lake)
    would = desk.json("erase", "--tenant", "acme", "--dry-run")
    assert (would["traces"], would["runs"], would["rows"]["spans"]) == (ACME, ACME, 3 * ACME)
    assert tree(desk.lake) == untouched, "a dry run changes nothing"

    receipt = desk.json("erase", "--tenant", "acme")
    assert (receipt["traces"], receipt["runs"], receipt["rows"]["spans"]) == (ACME, ACME, 3 * ACME)
    assert receipt["finished"] and receipt["files_gone_by"] > receipt["finished"]
    assert [json.loads(each) for each in receipts(desk.lake)] == [receipt]
    assert "acme" not in receipts(desk.lake)[0]
    salted = f"{receipt['id']}\ntenant\nacme".encode()
    assert receipt["whose"] == [{"kind": "tenant", "sha256": hashlib.sha256(salted).hexdigest()}]

    others = GLOBEX + INITECH
    counts = {"spans": 3 * others, "runs": others, "model_calls": 2 * others, "attempts": 2 * others}
    assert rows_by_reader(desk.lake) == counts
    assert desk.sql("SELECT DISTINCT tenant FROM runs ORDER BY 1") == [{"tenant": "globex"}, {"tenant": "initech"}]
    drawn = desk.one("SELECT sum(amount) AS n FROM lake.draw WHERE measure = 'requests' AND window_s = 60")
    assert drawn["n"] == 2 * others, "sums are made anew"
    assert desk.json("check", "--deep") == []
    assert desk.json("erase", "--tenant", "acme", "--dry-run")["traces"] == 0


def test_users_and_sessions_are_erased(desk):
    """Protects erasure: several at once, by user and by session; runs that are neither's stay."""
    desk.run("erase", "--user", "acme-u1", "--session", "globex-s0")
    left = desk.sql("SELECT tenant, count(*) AS n FROM runs GROUP BY tenant ORDER BY tenant")
    assert left == [
        {"tenant": "acme", "n": ACME - ACME // 3},
        {"tenant": "globex", "n": GLOBEX - GLOBEX // 2},
        {"tenant": "initech", "n": INITECH},
    ]
    assert desk.json("check", "--deep") == []
    said = desk.run("erase", code=2).stderr.decode()
    assert "--tenant" in said and "--user" in said
    desk.run("erase", "--user", "", code=2)


def test_erased_files_go_at_once_when_asked_to(desk):
    """Protects --now: no data file or log entry on the disk holds what was erased, and the lake is whole."""
    assert any(b"acme" in path.read_bytes() for path in desk.lake.rglob("*.json"))
    receipt = desk.json("erase", "--tenant", "acme", "--now")
    assert receipt["files_removed"] > 0
    for file in desk.lake.rglob("*.parquet"):
        columns = {name for (name, *_) in duckdb.sql(f"DESCRIBE SELECT * FROM '{file}'").fetchall()}
        for column in columns & {"tenant", "user_id", "session_id"}:
            query = f"SELECT count(*) FROM '{file}' WHERE {column} LIKE 'acme%'"
            assert duckdb.sql(query).fetchone() == (0,), (file, column)
    # Bounds of files that went stand in the log's entries.
    logs = [path for path in desk.lake.rglob("_delta_log/*.json") if b"acme" in path.read_bytes()]
    assert logs == []
    others = GLOBEX + INITECH
    assert rows_by_reader(desk.lake)["spans"] == 3 * others
    assert desk.one("SELECT count(*) AS n FROM runs")["n"] == others
    assert desk.json("check", "--deep") == []


def test_an_erasure_that_is_killed_goes_on(desk):
    """Protects erasure against crashes: kill -9 at any instant; readers see all of it or none, and the same command
    ends it with one receipt that counts everything."""
    chance, others = random.Random(9), GLOBEX + INITECH
    took, killed = seconds(desk, "erase", "--tenant", "acme"), 0
    for _ in range(4):
        killed += interrupted(desk, "erase", "--tenant", "acme", within=chance.uniform(0.2, 0.9) * took)
        seen = desk.one("SELECT count(*) AS runs, sum(model_calls) AS calls FROM runs")
        assert seen in [{"runs": n, "calls": 2 * n} for n in (ACME + others, others)]
    print(f"killed {killed} times")
    assert killed > 0
    receipt = desk.json("erase", "--tenant", "acme")
    counts = {"spans": 3 * others, "runs": others, "model_calls": 2 * others, "attempts": 2 * others}
    assert rows_by_reader(desk.lake) == counts
    assert [each for each in desk.json("check", "--deep") if each["severity"] == "fault"] == []
    ended = [json.loads(each) for each in receipts(desk.lake)]
    assert all(each["finished"] for each in ended), "none is left open"
    assert max(each["rows"]["spans"] for each in ended) == 3 * ACME
    assert receipt in ended


def test_what_the_journal_holds_is_said(desk):
    """Protects erasure: what was received and is not in the lake yet may be theirs, and that is said; once it is
    there, the same command takes it out too."""
    with desk.serve() as server:
        post(server, run_of("initech", "initech-u0", "initech-s0"))
        server.kill()
    done = desk.run("--format", "json", "erase", "--tenant", "initech")
    assert b"journal" in done.stderr and json.loads(done.stdout)["journal_held_requests"] == 1
    with desk.serve():
        pass
    receipt = desk.json("erase", "--tenant", "initech")
    assert (receipt["traces"], receipt["journal_held_requests"]) == (1, 0)
    assert rows_by_reader(desk.lake)["spans"] == 3 * (ACME + GLOBEX)
    assert desk.one("SELECT count(*) AS n FROM runs")["n"] == ACME + GLOBEX
