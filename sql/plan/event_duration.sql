-- How long runs take inside the past occurrences of each event without their waits for limits, microseconds, runs
-- that ended well.
WITH lasted AS (
  SELECT e.event, e.workflow, greatest(round(e.duration_ms * 1000) - coalesce(w.wait_us, 0), 0) AS us
  FROM event_runs e
  LEFT JOIN limit_waits w ON w.run_id = e.run_id
  WHERE e.outcome = 'ok' AND e.counts
)
SELECT event, workflow, n, of, sum, p[1] AS p50, p[2] AS p95, p[3] AS p99, CAST(p[4] AS BIGINT) AS max
FROM (
  SELECT event, workflow, count(us) AS n, count(*) AS of, sum(CAST(us AS BIGINT)) AS sum,
    percentiles(us, [0.5, 0.95, 0.99, 1.0]) AS p
  FROM lasted
  GROUP BY event, workflow
)
WHERE n > 0
ORDER BY event, workflow
