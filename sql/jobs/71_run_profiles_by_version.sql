-- The months of `run_profiles` in which a workflow ran on more than one model or prompt version, cut by
-- version, with when each was first and last started. A run whose version is not told stands under null.
-- makes: run_profiles_by_version
-- key: workflow, model_version, prompt_version, window_start, metric
-- partition: start_day
-- replaces: touched windows
WITH changed AS (
  SELECT workflow, month
  FROM finished_runs
  GROUP BY workflow, month
  HAVING min(model_version) <> max(model_version) OR min(prompt_version) <> max(prompt_version)
), grouped AS (
  SELECT r.workflow, r.model_version, r.prompt_version, r.month, min(r.start_time) AS first_start,
    max(r.start_time) AS last_start, count(*) AS runs, count(CASE WHEN r.ok THEN 1 END) AS ended_well,
    profile(r.numbers, r.weight) AS profiles
  FROM finished_runs r
  JOIN changed c ON c.month = r.month AND (c.workflow IS NOT DISTINCT FROM r.workflow)
  GROUP BY r.workflow, r.model_version, r.prompt_version, r.month
), profiled AS (
  SELECT * EXCLUDE (profiles), unnest(profiles) AS p FROM grouped
)
SELECT g.workflow, g.model_version, g.prompt_version, g.month AS window_start, w.window_end, g.first_start,
  g.last_start, m.metric, m.unit, p['n'] AS n, p['weight'] AS weight,
  CAST(p['n'] AS DOUBLE) / CASE m.runs
    WHEN 'ok' THEN g.ended_well WHEN 'failed' THEN g.runs - g.ended_well ELSE g.runs END AS coverage,
  p['mean'] AS mean, p['p50'] AS p50, p['p95'] AS p95, p['p99'] AS p99, p['max'] AS max, p['cv2'] AS cv2,
  w.start_day
FROM profiled g
JOIN run_metrics m ON m.metric = p['metric']
JOIN touched_windows w ON w.grain = 'month' AND w.window_start = g.month
