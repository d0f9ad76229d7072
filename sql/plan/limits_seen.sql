-- The latest limits that providers' headers told.
SELECT account, region, pool, limit_requests, limit_tokens, limit_output_tokens
FROM (
  SELECT account, region, pool, limit_requests, limit_tokens, limit_output_tokens,
    row_number() OVER (PARTITION BY account, region, pool ORDER BY start_time DESC, span_id) AS place
  FROM attempts
  WHERE pool IS NOT NULL AND start_time < $to
    AND (limit_requests IS NOT NULL OR limit_tokens IS NOT NULL OR limit_output_tokens IS NOT NULL)
)
WHERE place = 1
ORDER BY account, region, pool
