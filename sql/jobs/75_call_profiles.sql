-- Exact P50, P95 and P99 of model calls per workflow, step and model, and local day or month.
-- makes: call_profiles
-- key: workflow, step, model, window_start, grain, metric
-- partition: start_day
-- replaces: touched windows
WITH grouped AS (
  SELECT workflow, step, model, grain, window_start, count(*) AS calls,
    count(CASE WHEN ok THEN 1 END) AS ended_well, count(CASE WHEN streamed THEN 1 END) AS streamed,
    profile(numbers, weight) AS profiles
  FROM (
    SELECT *, CASE grain WHEN 'day' THEN day ELSE month END AS window_start
    FROM (SELECT *, unnest(['day', 'month']) AS grain FROM finished_calls)
  )
  GROUP BY workflow, step, model, grain, window_start
), profiled AS (
  SELECT * EXCLUDE (profiles), unnest(profiles) AS p FROM grouped
)
SELECT g.workflow, g.step, g.model, g.window_start, w.window_end, g.grain, m.metric, m.unit,
  p['n'] AS n, p['weight'] AS weight,
  CAST(p['n'] AS DOUBLE) / CASE m.calls
    WHEN 'ok' THEN g.ended_well WHEN 'streamed' THEN g.streamed ELSE g.calls END AS coverage,
  p['mean'] AS mean, p['p50'] AS p50, p['p95'] AS p95, p['p99'] AS p99, p['max'] AS max, p['cv2'] AS cv2,
  w.start_day
FROM profiled g
JOIN call_metrics m ON m.metric = p['metric']
JOIN touched_windows w ON w.grain = g.grain AND w.window_start = g.window_start
