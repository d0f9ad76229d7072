"""DuckDB and pandas on the same tables, and DuckDB's percentiles against ours."""

import json

import pandas as pd
import pytest

from support.readers import attach, connect, pandas

TABLES = {
    "spans": "trace_id, span_id, start_unix_nano",
    "runs": "run_id",
    "model_calls": "run_id, span_id",
    "attempts": "run_id, span_id, attempt",
    "tool_calls": "run_id, span_id",
    "run_profiles": "workflow, window_start, grain, metric, pool, account",
    "call_profiles": "workflow, window_start, grain, step, model, metric",
    "run_profiles_by_version": "workflow, window_start, model_version, prompt_version, metric",
    "draw": "account, region, pool, window_s, bucket, measure",
    "inflight": "boundary, name, bucket",
    "quality": "reason",
}


@pytest.fixture(scope="module")
def duck(company):
    """DuckDB over the example company's lake."""
    return attach(connect(), company.lake, *TABLES)


@pytest.mark.parametrize("table", TABLES)
def test_duckdb_and_pandas_read_what_sql_reads(company, duck, tmp_path, table):
    """Protects open tables: row by row and column by column the same in three readers."""
    ours = tmp_path / "ours.parquet"
    # The view `draw` adds metered measures; the stored table is what others read.
    stored = company.run("--format", "parquet", "sql", f"SELECT * FROM lake.{table}").stdout
    ours.write_bytes(stored)
    described = duck.execute(f"SELECT column_name FROM (DESCRIBE {table})").fetchall()
    # Maps cannot be compared in sets; as JSON text they can.
    columns = ", ".join(
        f"CAST(to_json({name}) AS VARCHAR) AS {name}" if name in ("attributes", "quality") else name
        for (name,) in described
    )
    delta, parquet = f"SELECT {columns} FROM {table}", f"SELECT {columns} FROM read_parquet('{ours}')"
    rows = duck.execute(f"SELECT count(*) FROM ({delta})").fetchone()[0]
    assert rows == duck.execute(f"SELECT count(*) FROM ({parquet})").fetchone()[0]
    assert table == "quality" or rows > 0
    for left, right in ((delta, parquet), (parquet, delta)):
        difference = duck.execute(f"({left}) EXCEPT ALL ({right}) LIMIT 3").fetchall()
        assert difference == [], difference

    frame = pandas(company.lake, table)
    reference = pd.read_parquet(ours)
    assert sorted(frame.columns) == sorted(reference.columns)
    assert len(frame) == len(reference)
    for name in reference.columns:
        if pd.api.types.is_numeric_dtype(reference[name]):
            assert frame[name].isna().sum() == reference[name].isna().sum(), name
            assert sorted(frame[name].dropna()) == sorted(reference[name].dropna()), name


def test_delta_protocol(company):
    """Protects readers without the newest Delta: reader v1, writer v2, no features."""
    for table in TABLES:
        first = sorted((company.lake / table / "_delta_log").glob("*.json"))[0]
        actions = [json.loads(line) for line in first.read_text().splitlines()]
        protocol = next(action["protocol"] for action in actions if "protocol" in action)
        assert (protocol["minReaderVersion"], protocol["minWriterVersion"]) == (1, 2), table


# What `run_profiles` counts, once more, in DuckDB's words: runs that have ended, latencies of good ones.
QUANTILES = """
WITH measured AS (
  UNPIVOT (
    SELECT workflow, start_time, outcome, duration_ms, ttft_ms, model_ms, tool_ms, own_ms, queue_wait_ms,
      expansion, model_calls::DOUBLE AS model_calls, model_attempts::DOUBLE AS model_attempts,
      tool_calls::DOUBLE AS tool_calls, retries::DOUBLE AS retries, input_tokens::DOUBLE AS input_tokens,
      input_uncached::DOUBLE AS input_uncached, cache_read::DOUBLE AS cache_read,
      cache_write::DOUBLE AS cache_write, output_tokens::DOUBLE AS output_tokens,
      embedding_tokens::DOUBLE AS embedding_tokens, retrieved_tokens::DOUBLE AS retrieved_tokens
    FROM runs WHERE outcome NOT IN ('open', 'orphan')
  ) ON COLUMNS(* EXCLUDE (workflow, start_time, outcome)) INTO NAME metric VALUE value
), theirs AS (
  SELECT p.workflow, p.grain, p.window_start, p.metric, count(*) AS n,
    quantile_cont(m.value, [0.5, 0.95, 0.99]) AS q, max(m.value) AS max
  FROM (SELECT DISTINCT workflow, grain, window_start, window_end, metric FROM run_profiles WHERE pool IS NULL) p
  JOIN measured m ON m.metric = p.metric AND m.workflow = p.workflow
    AND m.start_time >= p.window_start AND m.start_time < p.window_end
    AND (m.outcome = 'ok' OR p.metric NOT LIKE '%\\_ms' ESCAPE '\\')
  GROUP BY ALL
)
SELECT o.workflow, o.grain, o.metric, o.n, t.n, [o.p50, o.p95, o.p99, o.max], [t.q[1], t.q[2], t.q[3], t.max]
FROM run_profiles o
JOIN theirs t USING (workflow, grain, window_start, metric)
WHERE o.pool IS NULL
"""


def test_percentiles_are_duckdbs(duck):
    """Protects exact percentiles: DuckDB's `quantile_cont` on the same files gives ours to 1e-12."""
    compared = duck.execute(QUANTILES).fetchall()
    assert len(compared) > 200
    assert {grain for _, grain, *_ in compared} == {"day", "month"}
    for workflow, grain, metric, our_n, their_n, ours, theirs in compared:
        assert our_n == their_n, (workflow, grain, metric)
        assert ours == pytest.approx(theirs, rel=1e-12, abs=0), (workflow, grain, metric)
