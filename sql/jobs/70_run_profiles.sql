-- Exact P50, P95 and P99 of every numeric column of finished runs, and of what a run draws from each
-- pool, per workflow and local day or month. Latencies are of runs that ended well; those that failed
-- stand apart under failed.duration_ms. A run that draws nothing from a pool counts as 0 there; one
-- with a call whose usage is unknown has no value, so coverage falls instead of the percentile.
-- makes: run_profiles
-- key: workflow, window_start, grain, metric, pool, account
-- partition: start_day
-- replaces: touched windows
WITH metrics (number, metric, unit, runs) AS (VALUES
  (1, 'duration_ms', 'ms', 'ok'),
  (2, 'failed.duration_ms', 'ms', 'failed'),
  (3, 'ttft_ms', 'ms', 'ok'),
  (4, 'model_ms', 'ms', 'ok'),
  (5, 'tool_ms', 'ms', 'ok'),
  (6, 'own_ms', 'ms', 'ok'),
  (7, 'queue_wait_ms', 'ms', 'ok'),
  (8, 'model_calls', 'calls', 'all'),
  (9, 'model_attempts', 'attempts', 'all'),
  (10, 'throttled_attempts', 'attempts', 'all'),
  (11, 'retries', 'attempts', 'all'),
  (12, 'tool_calls', 'calls', 'all'),
  (13, 'max_parallel_model_calls', 'calls', 'all'),
  (14, 'max_parallel_tools', 'calls', 'all'),
  (15, 'input_tokens', 'tokens', 'all'),
  (16, 'input_uncached', 'tokens', 'all'),
  (17, 'cache_read', 'tokens', 'all'),
  (18, 'cache_write', 'tokens', 'all'),
  (19, 'output_tokens', 'tokens', 'all'),
  (20, 'reasoning_tokens', 'tokens', 'all'),
  (21, 'embedding_calls', 'calls', 'all'),
  (22, 'embedding_tokens', 'tokens', 'all'),
  (23, 'retrieved_tokens', 'tokens', 'all'),
  (24, 'expansion', 'calls', 'all'),
  (25, 'cost_usd', 'USD', 'all'),
  (26, 'draw.admission.requests', 'requests', 'all'),
  (27, 'draw.admission.input_tokens', 'tokens', 'all'),
  (28, 'draw.admission.output_tokens', 'tokens', 'all'),
  (29, 'draw.admission.tokens', 'tokens', 'all'),
  (30, 'draw.settlement.requests', 'requests', 'all'),
  (31, 'draw.settlement.input_tokens', 'tokens', 'all'),
  (32, 'draw.settlement.output_tokens', 'tokens', 'all'),
  (33, 'draw.settlement.tokens', 'tokens', 'all')
), grains AS (
  SELECT *, unnest(['day', 'month']) AS grain
  FROM runs
  WHERE start_day >= $windows_from_day AND start_day <= $windows_to_day AND outcome NOT IN ('open', 'orphan')
), windowed AS (
  SELECT *, local_trunc(grain, start_time) AS window_start
  FROM grains
), totals AS (
  SELECT workflow, grain, window_start, count(*) AS runs, count(CASE WHEN outcome = 'ok' THEN 1 END) AS ended_well
  FROM windowed
  GROUP BY workflow, grain, window_start
), columns AS (
  SELECT workflow, grain, window_start, CAST(NULL AS VARCHAR) AS account, CAST(NULL AS VARCHAR) AS pool,
    unnest(range(1, 26)) AS number, unnest([
    CASE WHEN outcome = 'ok' THEN duration_ms END,
    CASE WHEN outcome <> 'ok' THEN duration_ms END,
    CASE WHEN outcome = 'ok' THEN ttft_ms END,
    CASE WHEN outcome = 'ok' THEN model_ms END,
    CASE WHEN outcome = 'ok' THEN tool_ms END,
    CASE WHEN outcome = 'ok' THEN own_ms END,
    CASE WHEN outcome = 'ok' THEN queue_wait_ms END,
    CAST(model_calls AS DOUBLE),
    CAST(model_attempts AS DOUBLE),
    CAST(throttled_attempts AS DOUBLE),
    CAST(retries AS DOUBLE),
    CAST(tool_calls AS DOUBLE),
    CAST(max_parallel_model_calls AS DOUBLE),
    CAST(max_parallel_tools AS DOUBLE),
    CAST(input_tokens AS DOUBLE),
    CAST(input_uncached AS DOUBLE),
    CAST(cache_read AS DOUBLE),
    CAST(cache_write AS DOUBLE),
    CAST(output_tokens AS DOUBLE),
    CAST(reasoning_tokens AS DOUBLE),
    CAST(embedding_calls AS DOUBLE),
    CAST(embedding_tokens AS DOUBLE),
    CAST(retrieved_tokens AS DOUBLE),
    expansion,
    CAST(cost_usd AS DOUBLE)]) AS value
  FROM windowed
), metered AS (
  SELECT run_id, account, pool,
    meter(pool, start_time, throttled, billed, input_tokens, input_uncached, cache_read, cache_write,
      output_tokens, reasoning_tokens, max_output_tokens) AS m
  FROM attempts
  WHERE start_day >= $windows_from_day AND start_day <= $windows_to_day
), run_draws AS (
  SELECT run_id, account, pool,
    CASE WHEN count(*) = count(m['admission.requests']) THEN sum(m['admission.requests']) END AS admission_requests,
    CASE WHEN count(*) = count(m['admission.input_tokens']) THEN sum(m['admission.input_tokens']) END AS admission_input_tokens,
    CASE WHEN count(*) = count(m['admission.output_tokens']) THEN sum(m['admission.output_tokens']) END AS admission_output_tokens,
    CASE WHEN count(*) = count(m['admission.tokens']) THEN sum(m['admission.tokens']) END AS admission_tokens,
    CASE WHEN count(*) = count(m['settlement.requests']) THEN sum(m['settlement.requests']) END AS settlement_requests,
    CASE WHEN count(*) = count(m['settlement.input_tokens']) THEN sum(m['settlement.input_tokens']) END AS settlement_input_tokens,
    CASE WHEN count(*) = count(m['settlement.output_tokens']) THEN sum(m['settlement.output_tokens']) END AS settlement_output_tokens,
    CASE WHEN count(*) = count(m['settlement.tokens']) THEN sum(m['settlement.tokens']) END AS settlement_tokens
  FROM metered
  GROUP BY run_id, account, pool
), pools AS (
  SELECT DISTINCT r.workflow, r.grain, r.window_start, d.account, d.pool
  FROM windowed r JOIN run_draws d ON d.run_id = r.run_id
), draws AS (
  SELECT r.workflow, r.grain, r.window_start, p.account, p.pool,
    unnest(range(26, 34)) AS number, unnest([
    CASE WHEN d.run_id IS NULL THEN 0 ELSE d.admission_requests END,
    CASE WHEN d.run_id IS NULL THEN 0 ELSE d.admission_input_tokens END,
    CASE WHEN d.run_id IS NULL THEN 0 ELSE d.admission_output_tokens END,
    CASE WHEN d.run_id IS NULL THEN 0 ELSE d.admission_tokens END,
    CASE WHEN d.run_id IS NULL THEN 0 ELSE d.settlement_requests END,
    CASE WHEN d.run_id IS NULL THEN 0 ELSE d.settlement_input_tokens END,
    CASE WHEN d.run_id IS NULL THEN 0 ELSE d.settlement_output_tokens END,
    CASE WHEN d.run_id IS NULL THEN 0 ELSE d.settlement_tokens END]) AS value
  FROM windowed r
  JOIN pools p ON p.grain = r.grain AND p.window_start = r.window_start
    AND (p.workflow IS NOT DISTINCT FROM r.workflow)
  LEFT JOIN run_draws d ON d.run_id = r.run_id
    AND (d.pool IS NOT DISTINCT FROM p.pool) AND (d.account IS NOT DISTINCT FROM p.account)
), valued AS (
  SELECT workflow, grain, window_start, account, pool, number, value FROM columns
  UNION ALL
  SELECT workflow, grain, window_start, account, pool, number, CAST(value AS DOUBLE) FROM draws
), grouped AS (
  SELECT workflow, grain, window_start, account, pool, number, count(value) AS n,
    percentiles(value, [0.5, 0.95, 0.99, 1.0]) AS p,
    CAST(sum(CAST(value AS DECIMAL(38, 6))) AS DOUBLE) AS total,
    CAST(sum(CAST(value * value AS DECIMAL(38, 6))) AS DOUBLE) AS squares
  FROM valued
  GROUP BY workflow, grain, window_start, account, pool, number
)
SELECT g.workflow, g.window_start, w.window_end, g.grain, m.metric, m.unit, g.pool, g.account, g.n,
  CAST(g.n AS DOUBLE) / CASE m.runs
    WHEN 'ok' THEN t.ended_well WHEN 'failed' THEN t.runs - t.ended_well ELSE t.runs END AS coverage,
  g.total / g.n AS mean, g.p[1] AS p50, g.p[2] AS p95, g.p[3] AS p99, g.p[4] AS max,
  CASE WHEN g.total > 0 THEN greatest(g.squares * g.n / (g.total * g.total) - 1, 0) END AS cv2,
  w.start_day
FROM grouped g
JOIN metrics m ON m.number = g.number
JOIN touched_windows w ON w.grain = g.grain AND w.window_start = g.window_start
JOIN totals t ON t.grain = g.grain AND t.window_start = g.window_start
  AND (t.workflow IS NOT DISTINCT FROM g.workflow)
WHERE g.n > 0
