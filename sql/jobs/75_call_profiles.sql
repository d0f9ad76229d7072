-- Exact P50, P95 and P99 of model calls per workflow, step and model, and local day or month.
-- Latencies are of calls that ended well, the time to the first token of those that streamed.
-- makes: call_profiles
-- key: workflow, step, model, window_start, grain, metric
-- partition: start_day
-- replaces: touched windows
WITH metrics (number, metric, unit, calls) AS (VALUES
  (1, 'duration_ms', 'ms', 'ok'),
  (2, 'ttft_ms', 'ms', 'streamed'),
  (3, 'queue_wait_ms', 'ms', 'all'),
  (4, 'attempts', 'attempts', 'all'),
  (5, 'input_tokens', 'tokens', 'all'),
  (6, 'input_uncached', 'tokens', 'all'),
  (7, 'cache_read', 'tokens', 'all'),
  (8, 'cache_write', 'tokens', 'all'),
  (9, 'output_tokens', 'tokens', 'all'),
  (10, 'reasoning_tokens', 'tokens', 'all'),
  (11, 'max_output_tokens', 'tokens', 'all')
), finished AS (
  SELECT run_id, start_time AS run_start FROM runs
  WHERE start_day >= $windows_from_day AND start_day <= $windows_to_day AND outcome NOT IN ('open', 'orphan')
), grains AS (
  SELECT c.*, coalesce(c.response_model, c.model) AS called, f.run_start, unnest(['day', 'month']) AS grain
  FROM model_calls c
  JOIN finished f ON f.run_id = c.run_id
  WHERE c.start_day >= $windows_from_day AND c.start_day <= $windows_to_day
), windowed AS (
  SELECT *, local_trunc(grain, run_start) AS window_start
  FROM grains
), totals AS (
  SELECT workflow, step, called, grain, window_start, count(*) AS calls,
    count(CASE WHEN status = 'ok' THEN 1 END) AS ended_well,
    count(CASE WHEN status = 'ok' AND streaming THEN 1 END) AS streamed
  FROM windowed
  GROUP BY workflow, step, called, grain, window_start
), valued AS (
  SELECT workflow, step, called, grain, window_start, unnest(range(1, 12)) AS number, unnest([
    CASE WHEN status = 'ok' THEN duration_ms END,
    CASE WHEN status = 'ok' AND streaming THEN ttft_ms END,
    queue_wait_ms,
    CAST(attempts AS DOUBLE),
    CAST(input_tokens AS DOUBLE),
    CAST(input_uncached AS DOUBLE),
    CAST(cache_read AS DOUBLE),
    CAST(cache_write AS DOUBLE),
    CAST(output_tokens AS DOUBLE),
    CAST(reasoning_tokens AS DOUBLE),
    CAST(max_output_tokens AS DOUBLE)]) AS value
  FROM windowed
), grouped AS (
  SELECT workflow, step, called, grain, window_start, number, count(value) AS n,
    percentiles(value, [0.5, 0.95, 0.99, 1.0]) AS p,
    CAST(sum(CAST(value AS DECIMAL(38, 6))) AS DOUBLE) AS total,
    CAST(sum(CAST(value * value AS DECIMAL(38, 6))) AS DOUBLE) AS squares
  FROM valued
  GROUP BY workflow, step, called, grain, window_start, number
)
SELECT g.workflow, g.step, g.called AS model, g.window_start, w.window_end, g.grain, m.metric, m.unit, g.n,
  CAST(g.n AS DOUBLE) / CASE m.calls
    WHEN 'ok' THEN t.ended_well WHEN 'streamed' THEN t.streamed ELSE t.calls END AS coverage,
  g.total / g.n AS mean, g.p[1] AS p50, g.p[2] AS p95, g.p[3] AS p99, g.p[4] AS max,
  CASE WHEN g.total > 0 THEN greatest(g.squares * g.n / (g.total * g.total) - 1, 0) END AS cv2,
  w.start_day
FROM grouped g
JOIN metrics m ON m.number = g.number
JOIN touched_windows w ON w.grain = g.grain AND w.window_start = g.window_start
JOIN totals t ON t.grain = g.grain AND t.window_start = g.window_start
  AND (t.workflow IS NOT DISTINCT FROM g.workflow) AND (t.step IS NOT DISTINCT FROM g.step)
  AND (t.called IS NOT DISTINCT FROM g.called)
WHERE g.n > 0
