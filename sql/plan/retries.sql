-- What the clients of each workflow did after a limit had refused a call: how often they sent it at most, how
-- long they waited after the first refusal (median) and at most (P95), in microseconds, and what the provider
-- asked them to wait (ten values, each for a tenth of the answers that told).
WITH sent AS (
  SELECT workflow, throttled, retry_after_ms, CAST(start_time AS BIGINT) AS at,
    CAST(start_time AS BIGINT) + CAST(round(coalesce(duration_ms, 0) * 1000) AS BIGINT) AS ended,
    lead(CAST(start_time AS BIGINT)) OVER one_call AS sent_again,
    row_number() OVER one_call AS number,
    count(*) OVER (PARTITION BY run_id, operation_span_id) AS attempts
  FROM attempts
  WHERE workflow IS NOT NULL AND start_day >= CAST($measured_from AS DATE) AND run_id IN (
    SELECT run_id FROM runs
    WHERE throttled_attempts > 0 AND start_time >= $measured_from AND start_time < $to
  )
  WINDOW one_call AS (PARTITION BY run_id, operation_span_id ORDER BY start_time, attempt, span_id)
)
SELECT workflow, refused, attempts, CAST(round(first_wait[1]) AS BIGINT) AS first_wait_us,
  CAST(round(waits[1]) AS BIGINT) AS longest_wait_us, asked AS retry_after_us
FROM (
  SELECT workflow, count(*) AS refused, max(attempts) AS attempts,
    percentiles(CASE WHEN number = 1 THEN CAST(sent_again - ended AS DOUBLE) END, [0.5]) AS first_wait,
    percentiles(CAST(sent_again - ended AS DOUBLE), [0.95]) AS waits,
    percentiles(retry_after_ms * 1000, [0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95]) AS asked
  FROM sent
  WHERE throttled
  GROUP BY workflow
)
ORDER BY workflow
