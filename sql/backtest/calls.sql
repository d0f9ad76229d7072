-- Every call that a limit was asked for, once, when it was first wanted, with what it draws by the catalog when
-- it is let in and in the end: what plans are held against. A call is told by the attempt that was let in, since
-- those before it drew nothing or repeated it; one whose usage is unknown draws what is known of it.
WITH attempted AS (
  SELECT *,
    min(start_time) OVER (PARTITION BY run_id, operation_span_id) AS wanted,
    row_number() OVER (PARTITION BY run_id, operation_span_id ORDER BY throttled, attempt DESC, span_id) AS place
  FROM attempts_metered
  WHERE pool IS NOT NULL
)
SELECT account, region, pool, workflow, tier,
  CAST(wanted AS BIGINT) AS wanted_us,
  CAST(round(coalesce(duration_ms, 0) * 1000) AS BIGINT) AS latency_us,
  CAST(coalesce(admission_requests, 0) AS BIGINT) AS admission_requests,
  CAST(coalesce(admission_input_tokens, 0) AS BIGINT) AS admission_input_tokens,
  CAST(coalesce(admission_output_tokens, 0) AS BIGINT) AS admission_output_tokens,
  CAST(coalesce(admission_tokens, 0) AS BIGINT) AS admission_tokens,
  CAST(coalesce(settlement_requests, 0) AS BIGINT) AS settlement_requests,
  CAST(coalesce(settlement_input_tokens, 0) AS BIGINT) AS settlement_input_tokens,
  CAST(coalesce(settlement_output_tokens, 0) AS BIGINT) AS settlement_output_tokens,
  CAST(coalesce(settlement_tokens, 0) AS BIGINT) AS settlement_tokens
FROM attempted
WHERE place = 1
ORDER BY account, region, pool, wanted, run_id, operation_span_id
