-- The same inside the past occurrences of each event.
WITH drawn AS (
  SELECT e.event, d.* FROM run_draws d JOIN event_runs e ON e.run_id = d.run_id WHERE e.counts
), pools AS (
  SELECT DISTINCT event, workflow, account, region, pool, measure FROM drawn
), valued AS (
  SELECT p.event, p.workflow, p.account, p.region, p.pool, p.measure,
    CAST(CASE WHEN d.run_id IS NULL THEN 0 ELSE d.amount END AS DOUBLE) AS value
  FROM event_runs e
  JOIN pools p ON p.workflow = e.workflow AND p.event = e.event
  LEFT JOIN drawn d ON d.run_id = e.run_id AND d.event = e.event AND d.pool = p.pool
    AND d.measure = p.measure
    AND (d.account IS NOT DISTINCT FROM p.account) AND (d.region IS NOT DISTINCT FROM p.region)
  WHERE e.counts
)
SELECT event, workflow, account, region, pool, measure, n, of, sum,
  p[1] AS p50, p[2] AS p95, p[3] AS p99, CAST(p[4] AS BIGINT) AS max
FROM (
  SELECT event, workflow, account, region, pool, measure, count(value) AS n, count(*) AS of,
    sum(CAST(value AS BIGINT)) AS sum, percentiles(value, [0.5, 0.95, 0.99, 1.0]) AS p
  FROM valued
  GROUP BY event, workflow, account, region, pool, measure
)
WHERE n > 0
ORDER BY event, workflow, account, region, pool, measure
