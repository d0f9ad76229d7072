-- Exact P50, P95 and P99 of model calls per workflow, step and model, and local day or month.
-- Latencies are of calls that ended well.
-- makes: call_profiles
-- key: workflow, step, model, window_start, grain, metric
-- partition: start_day
-- replaces: touched windows
WITH windowed AS (
  SELECT c.*, coalesce(c.response_model, c.model) AS called, w.grain, w.window_start, w.window_end, w.start_day AS window_day
  FROM model_calls c
  JOIN (SELECT run_id, start_time AS run_start FROM runs
        WHERE start_day >= $windows_from_day AND start_day <= $windows_to_day
          AND outcome NOT IN ('open', 'orphan')) r ON r.run_id = c.run_id
  CROSS JOIN (VALUES ('day'), ('month')) AS g (grain)
  JOIN touched_windows w ON w.grain = g.grain AND w.window_start = local_trunc(g.grain, r.run_start)
  WHERE c.start_day >= $windows_from_day AND c.start_day <= $windows_to_day
), valued AS (
  SELECT workflow, step, called, grain, window_start, window_end, window_day,
    unnest([
    named_struct('metric', 'duration_ms', 'unit', 'ms', 'counts', status = 'ok', 'value', duration_ms),
    named_struct('metric', 'ttft_ms', 'unit', 'ms', 'counts', status = 'ok' AND streaming, 'value', ttft_ms),
    named_struct('metric', 'queue_wait_ms', 'unit', 'ms', 'counts', true, 'value', queue_wait_ms),
    named_struct('metric', 'attempts', 'unit', 'attempts', 'counts', true, 'value', CAST(attempts AS DOUBLE)),
    named_struct('metric', 'input_tokens', 'unit', 'tokens', 'counts', true, 'value', CAST(input_tokens AS DOUBLE)),
    named_struct('metric', 'input_uncached', 'unit', 'tokens', 'counts', true, 'value', CAST(input_uncached AS DOUBLE)),
    named_struct('metric', 'cache_read', 'unit', 'tokens', 'counts', true, 'value', CAST(cache_read AS DOUBLE)),
    named_struct('metric', 'cache_write', 'unit', 'tokens', 'counts', true, 'value', CAST(cache_write AS DOUBLE)),
    named_struct('metric', 'output_tokens', 'unit', 'tokens', 'counts', true, 'value', CAST(output_tokens AS DOUBLE)),
    named_struct('metric', 'reasoning_tokens', 'unit', 'tokens', 'counts', true, 'value', CAST(reasoning_tokens AS DOUBLE)),
    named_struct('metric', 'max_output_tokens', 'unit', 'tokens', 'counts', true, 'value', CAST(max_output_tokens AS DOUBLE))]) AS m
  FROM windowed
), grouped AS (
  SELECT workflow, step, called, grain, window_start, window_end, window_day,
    m['metric'] AS metric, m['unit'] AS unit,
    count(m['value']) AS n, count(*) AS of, percentiles(m['value'], [0.5, 0.95, 0.99, 1.0]) AS p,
    CAST(sum(CAST(m['value'] AS DECIMAL(38, 6))) AS DOUBLE) AS total,
    CAST(sum(CAST(m['value'] * m['value'] AS DECIMAL(38, 6))) AS DOUBLE) AS squares
  FROM valued
  WHERE m['counts']
  GROUP BY workflow, step, called, grain, window_start, window_end, window_day, m['metric'], m['unit']
)
SELECT workflow, step, called AS model, window_start, window_end, grain, metric, unit, n,
  CAST(n AS DOUBLE) / of AS coverage, total / n AS mean,
  p[1] AS p50, p[2] AS p95, p[3] AS p99, p[4] AS max,
  CASE WHEN total > 0 THEN greatest(squares * n / (total * total) - 1, 0) END AS cv2,
  window_day AS start_day
FROM grouped
WHERE n > 0
