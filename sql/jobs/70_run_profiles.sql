-- Exact P50, P95 and P99 of every numeric column of finished runs, and of what a run draws from each
-- pool, per workflow and local day or month. A run that draws nothing from a pool counts as 0 there; one
-- with a call whose usage is unknown has no value, so coverage falls instead of the percentile.
-- makes: run_profiles
-- key: workflow, window_start, grain, metric, pool, account
-- partition: start_day
-- replaces: touched windows
WITH windowed AS (
  SELECT *, CASE grain WHEN 'day' THEN day ELSE month END AS window_start
  FROM (SELECT *, unnest(['day', 'month']) AS grain FROM finished_runs)
), started AS (
  SELECT run_id, workflow, ok, weight, grain, CASE grain WHEN 'day' THEN day ELSE month END AS window_start
  FROM (SELECT run_id, workflow, ok, weight, day, month, unnest(['day', 'month']) AS grain FROM finished_runs)
), run_draws AS (
  SELECT run_id, account, pool,
    CASE WHEN count(*) = count(admission_requests) THEN sum(admission_requests) END AS admission_requests,
    CASE WHEN count(*) = count(admission_input_tokens) THEN sum(admission_input_tokens) END AS admission_input_tokens,
    CASE WHEN count(*) = count(admission_output_tokens) THEN sum(admission_output_tokens) END AS admission_output_tokens,
    CASE WHEN count(*) = count(admission_tokens) THEN sum(admission_tokens) END AS admission_tokens,
    CASE WHEN count(*) = count(settlement_requests) THEN sum(settlement_requests) END AS settlement_requests,
    CASE WHEN count(*) = count(settlement_input_tokens) THEN sum(settlement_input_tokens) END AS settlement_input_tokens,
    CASE WHEN count(*) = count(settlement_output_tokens) THEN sum(settlement_output_tokens) END AS settlement_output_tokens,
    CASE WHEN count(*) = count(settlement_tokens) THEN sum(settlement_tokens) END AS settlement_tokens
  FROM attempts_metered
  WHERE start_day >= $windows_from_day AND start_day <= $windows_to_day
  GROUP BY run_id, account, pool
), pools AS (
  SELECT DISTINCT r.workflow, r.grain, r.window_start, d.account, d.pool
  FROM started r JOIN run_draws d ON d.run_id = r.run_id
), grouped AS (
  SELECT workflow, grain, window_start, CAST(NULL AS VARCHAR) AS account, CAST(NULL AS VARCHAR) AS pool,
    count(*) AS runs, count(CASE WHEN ok THEN 1 END) AS ended_well, profile(numbers, weight) AS profiles
  FROM windowed
  GROUP BY workflow, grain, window_start
  UNION ALL
  SELECT r.workflow, r.grain, r.window_start, p.account, p.pool,
    count(*) AS runs, count(CASE WHEN r.ok THEN 1 END) AS ended_well,
    profile(named_struct(
      'draw.admission.requests', CASE WHEN d.run_id IS NULL THEN 0 ELSE d.admission_requests END,
      'draw.admission.input_tokens', CASE WHEN d.run_id IS NULL THEN 0 ELSE d.admission_input_tokens END,
      'draw.admission.output_tokens', CASE WHEN d.run_id IS NULL THEN 0 ELSE d.admission_output_tokens END,
      'draw.admission.tokens', CASE WHEN d.run_id IS NULL THEN 0 ELSE d.admission_tokens END,
      'draw.settlement.requests', CASE WHEN d.run_id IS NULL THEN 0 ELSE d.settlement_requests END,
      'draw.settlement.input_tokens', CASE WHEN d.run_id IS NULL THEN 0 ELSE d.settlement_input_tokens END,
      'draw.settlement.output_tokens', CASE WHEN d.run_id IS NULL THEN 0 ELSE d.settlement_output_tokens END,
      'draw.settlement.tokens', CASE WHEN d.run_id IS NULL THEN 0 ELSE d.settlement_tokens END
    ), r.weight) AS profiles
  FROM started r
  JOIN pools p ON p.grain = r.grain AND p.window_start = r.window_start
    AND (p.workflow IS NOT DISTINCT FROM r.workflow)
  LEFT JOIN run_draws d ON d.run_id = r.run_id
    AND (d.pool IS NOT DISTINCT FROM p.pool) AND (d.account IS NOT DISTINCT FROM p.account)
  GROUP BY r.workflow, r.grain, r.window_start, p.account, p.pool
), profiled AS (
  SELECT workflow, grain, window_start, account, pool, runs, ended_well, unnest(profiles) AS p FROM grouped
)
SELECT g.workflow, g.window_start, w.window_end, g.grain, m.metric, m.unit, g.pool, g.account,
  p['n'] AS n, p['weight'] AS weight,
  CAST(p['n'] AS DOUBLE) / CASE m.runs
    WHEN 'ok' THEN g.ended_well WHEN 'failed' THEN g.runs - g.ended_well ELSE g.runs END AS coverage,
  p['mean'] AS mean, p['p50'] AS p50, p['p95'] AS p95, p['p99'] AS p99, p['max'] AS max, p['cv2'] AS cv2,
  w.start_day
FROM profiled g
JOIN run_metrics m ON m.metric = p['metric']
JOIN touched_windows w ON w.grain = g.grain AND w.window_start = g.window_start
