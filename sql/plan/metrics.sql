-- Statistics of the columns of `runs` over finished runs of the history, times in microseconds; `unthrottled_ms` is
-- the length of a run without its waits for limits. Latencies are of runs that ended well.
WITH valued AS (
  SELECT workflow, unnest([
    named_struct('metric', 'duration_ms', 'counts', outcome = 'ok', 'value', round(duration_ms * 1000)),
    named_struct('metric', 'unthrottled_ms', 'counts', outcome = 'ok', 'value',
      greatest(round(duration_ms * 1000) - coalesce(wait_us, 0), 0)),
    named_struct('metric', 'ttft_ms', 'counts', outcome = 'ok', 'value', round(ttft_ms * 1000)),
    named_struct('metric', 'model_ms', 'counts', outcome = 'ok', 'value', round(model_ms * 1000)),
    named_struct('metric', 'tool_ms', 'counts', outcome = 'ok', 'value', round(tool_ms * 1000)),
    named_struct('metric', 'queue_wait_ms', 'counts', outcome = 'ok', 'value', round(queue_wait_ms * 1000)),
    named_struct('metric', 'model_calls', 'counts', true, 'value', CAST(model_calls AS DOUBLE)),
    named_struct('metric', 'model_attempts', 'counts', true, 'value', CAST(model_attempts AS DOUBLE)),
    named_struct('metric', 'retries', 'counts', true, 'value', CAST(retries AS DOUBLE)),
    named_struct('metric', 'tool_calls', 'counts', true, 'value', CAST(tool_calls AS DOUBLE)),
    named_struct('metric', 'max_parallel_model_calls', 'counts', true, 'value', CAST(max_parallel_model_calls AS DOUBLE)),
    named_struct('metric', 'max_parallel_tools', 'counts', true, 'value', CAST(max_parallel_tools AS DOUBLE)),
    named_struct('metric', 'input_tokens', 'counts', true, 'value', CAST(input_tokens AS DOUBLE)),
    named_struct('metric', 'input_uncached', 'counts', true, 'value', CAST(input_uncached AS DOUBLE)),
    named_struct('metric', 'cache_read', 'counts', true, 'value', CAST(cache_read AS DOUBLE)),
    named_struct('metric', 'cache_write', 'counts', true, 'value', CAST(cache_write AS DOUBLE)),
    named_struct('metric', 'output_tokens', 'counts', true, 'value', CAST(output_tokens AS DOUBLE)),
    named_struct('metric', 'reasoning_tokens', 'counts', true, 'value', CAST(reasoning_tokens AS DOUBLE)),
    named_struct('metric', 'tokens', 'counts', true, 'value', CAST(input_tokens + output_tokens AS DOUBLE)),
    named_struct('metric', 'expansion', 'counts', true, 'value', expansion)]) AS m
  FROM runs
  LEFT JOIN limit_waits ON limit_waits.run_id = runs.run_id
  WHERE workflow IS NOT NULL AND start_time >= $from AND start_time < $to
    AND outcome NOT IN ('open', 'orphan')
)
SELECT workflow, metric, n, of, sum, p[1] AS p50, p[2] AS p95, p[3] AS p99, CAST(p[4] AS BIGINT) AS max
FROM (
  SELECT workflow, m['metric'] AS metric, count(m['value']) AS n, count(*) AS of,
    sum(CAST(m['value'] AS BIGINT)) AS sum, percentiles(m['value'], [0.5, 0.95, 0.99, 1.0]) AS p
  FROM valued
  WHERE m['counts']
  GROUP BY workflow, m['metric']
)
WHERE n > 0
ORDER BY workflow, metric
