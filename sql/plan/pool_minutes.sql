-- Statistics of the busy minutes of the history, per pool and measure.
SELECT account, region, pool, measure, n, of, sum, p[1] AS p50, p[2] AS p95, p[3] AS p99, CAST(p[4] AS BIGINT) AS max
FROM (
  SELECT account, region, pool, measure, count(amount) AS n, count(*) AS of, sum(amount) AS sum,
    percentiles(CAST(amount AS DOUBLE), [0.5, 0.95, 0.99, 1.0]) AS p
  FROM minutes
  WHERE minute >= $from AND minute < $to
  GROUP BY account, region, pool, measure
)
ORDER BY account, region, pool, measure
