-- Exact P50, P95 and P99 of every numeric column of finished runs, and of what a run draws from each
-- pool, per workflow and local day or month. Latencies are of runs that ended well; those that failed
-- stand apart under failed.duration_ms. A run that draws nothing from a pool counts as 0 there; one
-- with a call whose usage is unknown has no value, so coverage falls instead of the percentile.
-- makes: run_profiles
-- key: workflow, window_start, grain, metric, pool, account
-- partition: start_day
-- replaces: touched windows
WITH windowed AS (
  SELECT r.*, w.grain, w.window_start, w.window_end, w.start_day AS window_day
  FROM runs r
  CROSS JOIN (VALUES ('day'), ('month')) AS g (grain)
  JOIN touched_windows w ON w.grain = g.grain AND w.window_start = local_trunc(g.grain, r.start_time)
  WHERE r.start_day >= $windows_from_day AND r.start_day <= $windows_to_day
    AND r.outcome NOT IN ('open', 'orphan')
), columns AS (
  SELECT workflow, grain, window_start, window_end, window_day,
    CAST(NULL AS VARCHAR) AS account, CAST(NULL AS VARCHAR) AS pool, unnest([
    named_struct('metric', 'duration_ms', 'unit', 'ms', 'counts', outcome = 'ok', 'value', duration_ms),
    named_struct('metric', 'failed.duration_ms', 'unit', 'ms', 'counts', outcome <> 'ok', 'value', duration_ms),
    named_struct('metric', 'ttft_ms', 'unit', 'ms', 'counts', outcome = 'ok', 'value', ttft_ms),
    named_struct('metric', 'model_ms', 'unit', 'ms', 'counts', outcome = 'ok', 'value', model_ms),
    named_struct('metric', 'tool_ms', 'unit', 'ms', 'counts', outcome = 'ok', 'value', tool_ms),
    named_struct('metric', 'own_ms', 'unit', 'ms', 'counts', outcome = 'ok', 'value', own_ms),
    named_struct('metric', 'queue_wait_ms', 'unit', 'ms', 'counts', outcome = 'ok', 'value', queue_wait_ms),
    named_struct('metric', 'model_calls', 'unit', 'calls', 'counts', true, 'value', CAST(model_calls AS DOUBLE)),
    named_struct('metric', 'model_attempts', 'unit', 'attempts', 'counts', true, 'value', CAST(model_attempts AS DOUBLE)),
    named_struct('metric', 'throttled_attempts', 'unit', 'attempts', 'counts', true, 'value', CAST(throttled_attempts AS DOUBLE)),
    named_struct('metric', 'retries', 'unit', 'attempts', 'counts', true, 'value', CAST(retries AS DOUBLE)),
    named_struct('metric', 'tool_calls', 'unit', 'calls', 'counts', true, 'value', CAST(tool_calls AS DOUBLE)),
    named_struct('metric', 'max_parallel_model_calls', 'unit', 'calls', 'counts', true, 'value', CAST(max_parallel_model_calls AS DOUBLE)),
    named_struct('metric', 'max_parallel_tools', 'unit', 'calls', 'counts', true, 'value', CAST(max_parallel_tools AS DOUBLE)),
    named_struct('metric', 'input_tokens', 'unit', 'tokens', 'counts', true, 'value', CAST(input_tokens AS DOUBLE)),
    named_struct('metric', 'input_uncached', 'unit', 'tokens', 'counts', true, 'value', CAST(input_uncached AS DOUBLE)),
    named_struct('metric', 'cache_read', 'unit', 'tokens', 'counts', true, 'value', CAST(cache_read AS DOUBLE)),
    named_struct('metric', 'cache_write', 'unit', 'tokens', 'counts', true, 'value', CAST(cache_write AS DOUBLE)),
    named_struct('metric', 'output_tokens', 'unit', 'tokens', 'counts', true, 'value', CAST(output_tokens AS DOUBLE)),
    named_struct('metric', 'reasoning_tokens', 'unit', 'tokens', 'counts', true, 'value', CAST(reasoning_tokens AS DOUBLE)),
    named_struct('metric', 'embedding_calls', 'unit', 'calls', 'counts', true, 'value', CAST(embedding_calls AS DOUBLE)),
    named_struct('metric', 'embedding_tokens', 'unit', 'tokens', 'counts', true, 'value', CAST(embedding_tokens AS DOUBLE)),
    named_struct('metric', 'retrieved_tokens', 'unit', 'tokens', 'counts', true, 'value', CAST(retrieved_tokens AS DOUBLE)),
    named_struct('metric', 'expansion', 'unit', 'calls', 'counts', true, 'value', expansion),
    named_struct('metric', 'cost_usd', 'unit', 'USD', 'counts', true, 'value', CAST(cost_usd AS DOUBLE))]) AS m
  FROM windowed
), run_draws AS (
  SELECT run_id, account, pool, m['measure'] AS measure,
    CASE WHEN count(*) = count(m['amount']) THEN sum(m['amount']) END AS amount
  FROM (
    SELECT run_id, account, pool,
      unnest(meter(pool, start_time, throttled, billed, input_tokens, input_uncached, cache_read, cache_write, output_tokens,
        reasoning_tokens, max_output_tokens)) AS m
    FROM attempts
    WHERE start_day >= $windows_from_day AND start_day <= $windows_to_day
  )
  GROUP BY run_id, account, pool, m['measure']
), pools AS (
  SELECT DISTINCT r.workflow, r.grain, r.window_start, d.account, d.pool, d.measure
  FROM windowed r JOIN run_draws d ON d.run_id = r.run_id
), draws AS (
  SELECT r.workflow, r.grain, r.window_start, r.window_end, r.window_day, p.account, p.pool,
    'draw.' || p.measure AS metric,
    CASE WHEN p.measure LIKE '%.requests' THEN 'requests' ELSE 'tokens' END AS unit,
    CAST(CASE WHEN d.run_id IS NULL THEN 0 ELSE d.amount END AS DOUBLE) AS value
  FROM windowed r
  JOIN pools p ON p.grain = r.grain AND p.window_start = r.window_start
    AND (p.workflow IS NOT DISTINCT FROM r.workflow)
  LEFT JOIN run_draws d ON d.run_id = r.run_id AND d.measure = p.measure
    AND (d.pool IS NOT DISTINCT FROM p.pool) AND (d.account IS NOT DISTINCT FROM p.account)
), valued AS (
  SELECT workflow, grain, window_start, window_end, window_day, account, pool,
    m['metric'] AS metric, m['unit'] AS unit, m['value'] AS value
  FROM columns
  WHERE m['counts']
  UNION ALL
  SELECT workflow, grain, window_start, window_end, window_day, account, pool, metric, unit, value
  FROM draws
), grouped AS (
  SELECT workflow, grain, window_start, window_end, window_day, account, pool, metric, unit,
    count(value) AS n, count(*) AS of, percentiles(value, [0.5, 0.95, 0.99, 1.0]) AS p,
    CAST(sum(CAST(value AS DECIMAL(38, 6))) AS DOUBLE) AS total,
    CAST(sum(CAST(value * value AS DECIMAL(38, 6))) AS DOUBLE) AS squares
  FROM valued
  GROUP BY workflow, grain, window_start, window_end, window_day, account, pool, metric, unit
)
SELECT workflow, window_start, window_end, grain, metric, unit, pool, account, n,
  CAST(n AS DOUBLE) / of AS coverage, total / n AS mean,
  p[1] AS p50, p[2] AS p95, p[3] AS p99, p[4] AS max,
  CASE WHEN total > 0 THEN greatest(squares * n / (total * total) - 1, 0) END AS cv2,
  window_day AS start_day
FROM grouped
WHERE n > 0
