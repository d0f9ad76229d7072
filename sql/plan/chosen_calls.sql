-- What chosen_runs do, a row a call of a model or a tool. A model call is told once, by the attempt that was let
-- in: its waits for limits are left out, since a replay makes waits of its own. One that was never let in is
-- marked as refused. Where it was first sent to another pool than the one that served it, that pool is told too:
-- the demand was there.
WITH attempted AS (
  SELECT *,
    min(start_time) OVER (PARTITION BY run_id, operation_span_id) AS wanted,
    first_value(pool) OVER first_sent AS first_pool,
    first_value(account) OVER first_sent AS first_account,
    first_value(region) OVER first_sent AS first_region,
    row_number() OVER (PARTITION BY run_id, operation_span_id ORDER BY throttled, attempt DESC, span_id) AS place
  FROM attempts
  WHERE pool IS NOT NULL AND start_day >= CAST($measured_from AS DATE)
    AND run_id IN (SELECT run_id FROM chosen_runs)
  WINDOW first_sent AS (PARTITION BY run_id, operation_span_id ORDER BY start_time, attempt, span_id)
), calls AS (
  SELECT a.run_id, a.operation_span_id AS span_id, a.account, a.region, a.pool, false AS is_tool, a.wanted,
    a.start_time, a.duration_ms, c.ttft_ms, a.throttled AS refused, a.billed AND NOT a.throttled AS billed,
    a.input_tokens, a.input_uncached, a.cache_read, a.cache_write,
    -- Embeddings and reranking have no output to tell of.
    coalesce(a.output_tokens, CASE WHEN a.kind <> 'model_call' AND a.input_tokens IS NOT NULL THEN 0 END)
      AS output_tokens,
    a.reasoning_tokens, a.max_output_tokens,
    CASE WHEN a.first_pool <> a.pool THEN a.first_pool END AS asked_pool,
    CASE WHEN a.first_pool <> a.pool THEN a.first_account END AS asked_account,
    CASE WHEN a.first_pool <> a.pool THEN a.first_region END AS asked_region
  FROM attempted a
  LEFT JOIN model_calls c ON c.run_id = a.run_id AND c.span_id = a.operation_span_id
  WHERE a.place = 1
  UNION ALL
  SELECT run_id, span_id, CAST(NULL AS VARCHAR) AS account, CAST(NULL AS VARCHAR) AS region, tool AS pool,
    true AS is_tool, start_time AS wanted, start_time, duration_ms, CAST(NULL AS DOUBLE) AS ttft_ms, false AS refused,
    false AS billed, CAST(NULL AS BIGINT) AS input_tokens, CAST(NULL AS BIGINT) AS input_uncached,
    CAST(NULL AS BIGINT) AS cache_read, CAST(NULL AS BIGINT) AS cache_write, CAST(NULL AS BIGINT) AS output_tokens,
    CAST(NULL AS BIGINT) AS reasoning_tokens, CAST(NULL AS BIGINT) AS max_output_tokens,
    CAST(NULL AS VARCHAR) AS asked_pool, CAST(NULL AS VARCHAR) AS asked_account, CAST(NULL AS VARCHAR) AS asked_region
  FROM tool_calls
  WHERE tool IS NOT NULL AND start_day >= CAST($measured_from AS DATE)
    AND run_id IN (SELECT run_id FROM chosen_runs)
)
SELECT s.event, s.workflow, s.run_id, CAST(s.start_time AS BIGINT) AS arrival_us, s.class, s.restarted,
  c.account, c.region, c.pool, c.is_tool AS tool,
  CAST(c.wanted AS BIGINT) - CAST(s.start_time AS BIGINT) AS wanted_us,
  CAST(c.start_time AS BIGINT) - CAST(s.start_time AS BIGINT) AS start_us,
  CAST(round(coalesce(c.duration_ms, 0) * 1000) AS BIGINT) AS latency_us,
  CAST(round(c.ttft_ms * 1000) AS BIGINT) AS ttft_us,
  c.refused, c.billed, c.input_tokens, c.input_uncached, c.cache_read, c.cache_write, c.output_tokens,
  c.reasoning_tokens, c.max_output_tokens, c.asked_pool, c.asked_account, c.asked_region
FROM chosen_runs s
JOIN calls c ON c.run_id = s.run_id
ORDER BY s.event, s.workflow, s.run_id, c.wanted, c.span_id
