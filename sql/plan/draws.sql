-- What one run draws from each pool, over the finished runs of the history; a run that draws nothing
-- from a pool that its workflow uses counts as 0.
WITH history AS (
  SELECT run_id, workflow FROM runs
  WHERE workflow IS NOT NULL AND start_time >= $from AND start_time < $to
    AND outcome NOT IN ('open', 'orphan')
), drawn AS (
  SELECT d.* FROM run_draws d JOIN history h ON h.run_id = d.run_id
), pools AS (
  SELECT DISTINCT workflow, account, region, pool, measure FROM drawn
), valued AS (
  SELECT p.workflow, p.account, p.region, p.pool, p.measure,
    CAST(CASE WHEN d.run_id IS NULL THEN 0 ELSE d.amount END AS DOUBLE) AS value
  FROM history h
  JOIN pools p ON p.workflow = h.workflow
  LEFT JOIN drawn d ON d.run_id = h.run_id AND d.pool = p.pool AND d.measure = p.measure
    AND (d.account IS NOT DISTINCT FROM p.account) AND (d.region IS NOT DISTINCT FROM p.region)
)
SELECT workflow, account, region, pool, measure, n, of, sum,
  p[1] AS p50, p[2] AS p95, p[3] AS p99, CAST(p[4] AS BIGINT) AS max
FROM (
  SELECT workflow, account, region, pool, measure, count(value) AS n, count(*) AS of,
    sum(CAST(value AS BIGINT)) AS sum, percentiles(value, [0.5, 0.95, 0.99, 1.0]) AS p
  FROM valued
  GROUP BY workflow, account, region, pool, measure
)
WHERE n > 0
ORDER BY workflow, account, region, pool, measure
