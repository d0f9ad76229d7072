-- The months of `call_profiles` in which a step called a model with more than one prompt version, cut by
-- version, with when each was first and last called. A call whose version is not told stands under null.
-- makes: call_profiles_by_version
-- key: workflow, step, model, prompt_version, window_start, metric
-- partition: start_day
-- replaces: touched windows
WITH changed AS (
  SELECT workflow, step, model, month
  FROM finished_calls
  GROUP BY workflow, step, model, month
  HAVING min(prompt_version) <> max(prompt_version)
), grouped AS (
  SELECT c.workflow, c.step, c.model, c.prompt_version, c.month, min(c.start_time) AS first_start,
    max(c.start_time) AS last_start, count(*) AS calls, count(CASE WHEN c.ok THEN 1 END) AS ended_well,
    count(CASE WHEN c.streamed THEN 1 END) AS streamed, profile(c.numbers, c.weight) AS profiles
  FROM finished_calls c
  JOIN changed v ON v.month = c.month AND (v.workflow IS NOT DISTINCT FROM c.workflow)
    AND (v.step IS NOT DISTINCT FROM c.step) AND (v.model IS NOT DISTINCT FROM c.model)
  GROUP BY c.workflow, c.step, c.model, c.prompt_version, c.month
), profiled AS (
  SELECT * EXCLUDE (profiles), unnest(profiles) AS p FROM grouped
)
SELECT g.workflow, g.step, g.model, g.prompt_version, g.month AS window_start, w.window_end, g.first_start,
  g.last_start, m.metric, m.unit, p['n'] AS n, p['weight'] AS weight,
  CAST(p['n'] AS DOUBLE) / CASE m.calls
    WHEN 'ok' THEN g.ended_well WHEN 'streamed' THEN g.streamed ELSE g.calls END AS coverage,
  p['mean'] AS mean, p['p50'] AS p50, p['p95'] AS p95, p['p99'] AS p99, p['max'] AS max, p['cv2'] AS cv2,
  w.start_day
FROM profiled g
JOIN call_metrics m ON m.metric = p['metric']
JOIN touched_windows w ON w.grain = 'month' AND w.window_start = g.month
