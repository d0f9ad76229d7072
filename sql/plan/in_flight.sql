-- In flight per boundary and name over the busy minutes of the history, with starts and time inside.
WITH started AS (
  SELECT 'run' AS boundary, workflow AS name, duration_ms FROM runs
  WHERE start_time >= $from AND start_time < $to AND outcome NOT IN ('open', 'orphan')
  UNION ALL
  SELECT 'model', pool, duration_ms FROM attempts WHERE start_time >= $from AND start_time < $to
  UNION ALL
  SELECT 'tool', tool, duration_ms FROM tool_calls WHERE start_time >= $from AND start_time < $to
  UNION ALL
  SELECT 'stream', pool, duration_ms FROM model_calls WHERE start_time >= $from AND start_time < $to AND streaming
), starts AS (
  SELECT boundary, name, count(*) AS starts, sum(CAST(round(coalesce(duration_ms, 0) * 1000) AS BIGINT)) AS busy_us
  FROM started
  GROUP BY boundary, name
), busy AS (
  SELECT boundary, name, CAST(round(sum(CAST(mean AS DECIMAL(38, 6))) * 1000 / count(*)) AS BIGINT) AS mean_milli,
    percentiles(CAST(max AS DOUBLE), [0.95]) AS p, max(max) AS max
  FROM inflight
  WHERE bucket >= $from AND bucket < $to
  GROUP BY boundary, name
)
SELECT s.boundary, s.name, s.starts, s.busy_us, coalesce(b.mean_milli, 0) AS mean_milli,
  coalesce(b.p[1], 0) AS p95, coalesce(b.max, 0) AS max
FROM starts s
LEFT JOIN busy b ON b.boundary = s.boundary AND b.name = s.name
WHERE s.name IS NOT NULL
ORDER BY s.boundary, s.name
