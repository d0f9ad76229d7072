"""Dollars, and both draws, reckoned a second time: by DuckDB, from the same Parquet and the catalog's numbers."""

from collections import defaultdict
from decimal import Decimal

import pytest

from support.readers import attach, connect
from support.spans import agent, chat, post
from support.tariffs import MEASURES, STAGES, WEIGHED, tariff

PICO = Decimal(10) ** 12


@pytest.fixture(scope="module")
def duck(company):
    """DuckDB over the example company's lake, with the tariff of each pool and day beside its attempts."""
    connection = attach(connect(), company.lake, "attempts", "runs")
    found = connection.execute(
        "SELECT DISTINCT pool, CAST(start_time AT TIME ZONE 'UTC' AS DATE) AS day FROM attempts WHERE pool IS NOT NULL"
    ).fetchall()
    tariffs = [told for told in (tariff(pool, day) for pool, day in found) if told]
    assert len(tariffs) == len(found), "every pool of the example company is in the catalog"
    types = {"pool": "VARCHAR", "day": "DATE", "units": "BOOLEAN"}
    columns = ", ".join(f"{name} {types.get(name, 'HUGEINT')}" for name in tariffs[0])
    connection.execute(f"CREATE TABLE tariffs ({columns})")
    places = ", ".join("?" for _ in tariffs[0])
    connection.executemany(f"INSERT INTO tariffs VALUES ({places})", [list(told.values()) for told in tariffs])
    connection.execute(RECKONED)
    return connection


# Each attempt with its tokens by kind: nothing where it was refused or failed before any was made, null where it
# tells none; where the cache is not told, all input is plain. Then picodollars, and what each stage counts.
SUMS = ",\n  ".join(
    f"CAST({' + '.join(f'{kind} * {stage}_{measure}_{kind}' for kind in WEIGHED)} AS HUGEINT) AS {stage}_{measure}"
    for stage in STAGES
    for measure in MEASURES
)
RECKONED = f"""
CREATE VIEW reckoned AS
WITH used AS (
  SELECT a.*, t.* EXCLUDE (pool, day), NOT a.billed AND (a.throttled OR a.output_tokens IS NULL) AS nothing,
    CASE WHEN a.kind = 'model_call' THEN a.output_tokens ELSE coalesce(a.output_tokens, 0) END AS made
  FROM attempts a
  JOIN tariffs t ON t.pool = a.pool AND t.day = CAST(a.start_time AT TIME ZONE 'UTC' AS DATE)
), split AS (
  SELECT * EXCLUDE (input_uncached, cache_read, cache_write),
    CASE WHEN nothing THEN 0 WHEN made IS NOT NULL THEN coalesce(input_uncached, input_tokens) END
      AS input_uncached,
    CASE WHEN nothing THEN 0 ELSE coalesce(cache_read, 0) END AS cache_read,
    CASE WHEN nothing THEN 0 ELSE coalesce(cache_write, 0) END AS cache_write,
    CASE WHEN nothing THEN 0 WHEN coalesce(input_uncached, input_tokens) IS NOT NULL THEN made END AS output,
    CASE WHEN nothing THEN 0 ELSE coalesce(max_output_tokens, unset, made) END AS max_output
  FROM used
)
SELECT *, CASE
    WHEN nothing THEN 0
    WHEN price_longest < input_uncached + cache_read + cache_write THEN error('a long context')
    ELSE input_uncached * price_input_uncached + CASE WHEN output > 0 THEN output * price_output ELSE output END
      + CASE WHEN cache_read > 0 THEN cache_read * price_cache_read ELSE 0 END
      + CASE WHEN cache_write > 0 THEN cache_write * price_cache_write ELSE 0 END
  END AS list_pico,
  CASE WHEN throttled THEN refused ELSE 1 END AS admission_requests,
  CASE WHEN throttled THEN refused ELSE 1 END AS settlement_requests,
  {SUMS}
FROM split
"""


def dollars(pico):
    """Picodollars as dollars."""
    return None if pico is None else Decimal(int(pico)) / PICO


def test_dollars_by_workflow_and_tier(company, duck):
    """Protects every figure of money: by workflow and tier the sums of both are the same, to the picodollar."""
    ours = company.sql(
        "SELECT workflow, tier, count(*) AS attempts, count(cost_usd) AS known, CAST(sum(cost_usd) AS VARCHAR) AS cost,"
        " CAST(sum(list_usd) AS VARCHAR) AS list FROM attempts GROUP BY workflow, tier ORDER BY workflow, tier"
    )
    theirs = duck.execute(
        "SELECT workflow, tier, count(*), count(cost), sum(cost), sum(list_pico) FROM"
        " (SELECT *, CASE WHEN units AND list_pico IS NULL AND NOT nothing AND output IS NULL THEN NULL"
        "    WHEN units THEN 0 ELSE list_pico END AS cost FROM reckoned)"
        " GROUP BY workflow, tier ORDER BY workflow, tier"
    ).fetchall()
    assert len(ours) == len(theirs) >= 4
    for our, (workflow, tier, attempts, known, cost, worth) in zip(ours, theirs):
        assert (our["workflow"], our["tier"], our["attempts"], our["known"]) == (workflow, tier, attempts, known)
        for text, pico in ((our["cost"], cost), (our["list"], worth)):
            assert (None if text is None else Decimal(text)) == dollars(pico), (workflow, tier)
        print(f"{workflow} tier {tier}: {our['cost']} USD, {known} of {attempts} known")
    assert sum(Decimal(our["cost"] or 0) for our in ours) > 1, "there is something to compare"


def test_spend_is_the_same_money(company):
    """Protects the view that people ask: by workflow, tenant, tier and pool it sums to what attempts cost."""
    spend = company.one("SELECT CAST(sum(known_cost_usd) AS VARCHAR) AS usd, sum(attempts) AS n FROM spend")
    attempts = company.one("SELECT CAST(sum(cost_usd) AS VARCHAR) AS usd, count(*) AS n FROM attempts")
    runs = company.one("SELECT CAST(sum(known_cost_usd) AS VARCHAR) AS usd FROM runs")
    assert Decimal(spend["usd"]) == Decimal(attempts["usd"]) == Decimal(runs["usd"])
    assert spend["n"] == attempts["n"]


def test_admission_against_settlement_by_pool(company, duck):
    """Protects both draws: by pool and measure the sums are the same, for every window length."""
    ours = defaultdict(dict)
    for row in company.sql(
        "SELECT pool, measure, window_s, sum(amount) AS amount FROM draw"
        " WHERE pool IS NOT NULL AND strpos(measure, '.') > 0 GROUP BY pool, measure, window_s"
    ):
        ours[row["pool"], row["measure"]][row["window_s"]] = row["amount"]
    names = [f"{stage}_{measure}" for stage in STAGES for measure in ("requests", *MEASURES)]
    sums = ", ".join(f"coalesce(sum({name}), 0)" for name in names)
    theirs = duck.execute(f"SELECT pool, {sums} FROM reckoned GROUP BY pool ORDER BY pool").fetchall()
    assert len(theirs) >= 4
    for pool, *amounts in theirs:
        for name, amount in zip(names, amounts):
            measure = name.replace("_", ".", 1)
            windows = ours.pop((pool, measure), dict.fromkeys((1, 10, 60, 300), 0))
            assert windows == dict.fromkeys((1, 10, 60, 300), int(amount)), (pool, measure)
        print(pool, dict(zip(names, map(int, amounts))))
    assert not ours, "a pool that is not reckoned"


def test_an_unknown_model_is_reported_and_counted(plimsoll):
    """Protects calls whose pool the catalog does not know: counted, without a price, and said by `doctor`."""
    root = agent("close")
    with plimsoll.serve() as server:
        post(server, [root, chat(root, 1000, 100, model="gpt-99-nimbus", provider="openai")])
    plimsoll.run("profile")
    counted = plimsoll.one(
        "SELECT pool, measure, amount FROM draw WHERE window_s = 60 AND measure = 'settlement.tokens'"
    )
    assert counted == {"pool": "openai/direct/global/gpt-99-nimbus", "measure": "settlement.tokens", "amount": 1100}
    assert plimsoll.one("SELECT cost_usd, known_cost_usd, cost_coverage FROM runs") == {
        "cost_usd": None,
        "known_cost_usd": 0,
        "cost_coverage": 0,
    }
    checks = {found["check"]: found for found in plimsoll.json("doctor")}
    assert "openai/direct/global/gpt-99-nimbus" in checks["pools_not_in_catalog"]["says"], checks
