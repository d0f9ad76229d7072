-- How long runs take inside the past occurrences of each event, microseconds, runs that ended well.
SELECT event, workflow, n, of, sum, p[1] AS p50, p[2] AS p95, p[3] AS p99, CAST(p[4] AS BIGINT) AS max
FROM (
  SELECT event, workflow, count(duration_ms) AS n, count(*) AS of,
    sum(CAST(round(duration_ms * 1000) AS BIGINT)) AS sum,
    percentiles(round(duration_ms * 1000), [0.5, 0.95, 0.99, 1.0]) AS p
  FROM event_runs
  WHERE outcome = 'ok'
  GROUP BY event, workflow
)
WHERE n > 0
ORDER BY event, workflow
