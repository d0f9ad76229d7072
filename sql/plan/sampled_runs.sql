-- Whole finished runs to replay, a row a call: of each workflow over the history, and inside the past
-- occurrences of each event; at most 400 of each, scattered over the time and always the same ones. A call
-- is told once, by the attempt that was let in: its wait for a limit is left out, since a replay makes
-- waits of its own.
WITH candidates AS (
  SELECT CAST(NULL AS VARCHAR) AS event, workflow, run_id, start_time
  FROM runs
  WHERE workflow IS NOT NULL AND start_time >= $from AND start_time < $to AND outcome NOT IN ('open', 'orphan')
  UNION ALL
  SELECT e.event, e.workflow, e.run_id, r.start_time
  FROM (SELECT DISTINCT event, workflow, run_id FROM event_runs) e
  JOIN runs r ON r.run_id = e.run_id
), sampled AS (
  SELECT event, workflow, run_id, start_time
  FROM (
    SELECT *, row_number() OVER (PARTITION BY workflow, event
      ORDER BY CAST(start_time AS BIGINT) % 1000003 * 7919 % 1000003, run_id) AS place
    FROM candidates
  )
  WHERE place <= 400
), attempted AS (
  SELECT *,
    min(start_time) OVER (PARTITION BY run_id, operation_span_id) AS wanted,
    row_number() OVER (PARTITION BY run_id, operation_span_id ORDER BY throttled, attempt DESC, span_id) AS place
  FROM attempts
  WHERE pool IS NOT NULL AND start_day >= CAST($measured_from AS DATE)
    AND run_id IN (SELECT run_id FROM sampled)
), calls AS (
  SELECT a.*, c.ttft_ms
  FROM attempted a
  LEFT JOIN model_calls c ON c.run_id = a.run_id AND c.span_id = a.operation_span_id
  WHERE a.place = 1
)
SELECT s.event, s.workflow, s.run_id, c.account, c.region, c.pool,
  CAST(c.wanted AS BIGINT) - CAST(s.start_time AS BIGINT) AS wanted_us,
  CAST(c.start_time AS BIGINT) - CAST(s.start_time AS BIGINT) AS start_us,
  CAST(round(coalesce(c.duration_ms, 0) * 1000) AS BIGINT) AS latency_us,
  CAST(round(c.ttft_ms * 1000) AS BIGINT) AS ttft_us,
  c.billed AND NOT c.throttled AS billed,
  c.input_tokens, c.input_uncached, c.cache_read, c.cache_write,
  -- Embeddings and reranking have no output to tell of.
  coalesce(c.output_tokens, CASE WHEN c.kind <> 'model_call' AND c.input_tokens IS NOT NULL THEN 0 END) AS output_tokens,
  c.reasoning_tokens, c.max_output_tokens
FROM sampled s
JOIN calls c ON c.run_id = s.run_id
ORDER BY s.event, s.workflow, s.run_id, c.wanted, c.operation_span_id
