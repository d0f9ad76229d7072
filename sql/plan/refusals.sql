-- What was sent to each pool on the newest day on which it refused twenty attempts, or else most, from ten minutes
-- before the first of them on, up to 20,000 attempts: evidence of how its limits are enforced. It begins in quiet,
-- so that what a bucket holds can be told. What a refused attempt asked for is told by the attempt of the same call
-- that was let in.
WITH refused AS (
  SELECT account, region, pool, date_trunc('day', minute) AS day, min(minute) AS first, sum(amount) AS refused
  FROM minutes
  WHERE measure = 'throttled'
  GROUP BY account, region, pool, date_trunc('day', minute)
), worst AS (
  SELECT account, region, pool, first - INTERVAL '10 minutes' AS since
  FROM (
    SELECT *, row_number() OVER (PARTITION BY account, region, pool
      ORDER BY least(refused, 20) DESC, day DESC) AS place
    FROM refused
  )
  WHERE place = 1
), sent AS (
  SELECT a.*,
    row_number() OVER (PARTITION BY a.account, a.region, a.pool ORDER BY a.start_time, a.span_id, a.attempt) AS place
  FROM attempts_metered a
  JOIN worst w ON w.pool = a.pool AND a.start_time >= w.since AND a.start_time < $to
    AND (w.account IS NOT DISTINCT FROM a.account) AND (w.region IS NOT DISTINCT FROM a.region)
), told AS (
  SELECT *,
    max(CASE WHEN NOT throttled THEN admission_input_tokens END) OVER one_call AS call_input_tokens,
    max(CASE WHEN NOT throttled THEN admission_output_tokens END) OVER one_call AS call_output_tokens,
    max(CASE WHEN NOT throttled THEN admission_tokens END) OVER one_call AS call_tokens
  FROM sent
  WHERE place <= 20000
  WINDOW one_call AS (PARTITION BY account, region, pool, run_id, operation_span_id)
)
SELECT account, region, pool, CAST(start_time AS BIGINT) AS at_us,
  CAST(start_time AS BIGINT) + CAST(round(coalesce(duration_ms, 0) * 1000) AS BIGINT) AS until_us,
  throttled AS refused, CAST(1 AS BIGINT) AS admission_requests, CAST(1 AS BIGINT) AS settlement_requests,
  CASE WHEN throttled THEN call_input_tokens ELSE admission_input_tokens END AS admission_input_tokens,
  CASE WHEN throttled THEN call_output_tokens ELSE admission_output_tokens END AS admission_output_tokens,
  CASE WHEN throttled THEN call_tokens ELSE admission_tokens END AS admission_tokens,
  settlement_input_tokens, settlement_output_tokens, settlement_tokens
FROM told
ORDER BY account, region, pool, place
