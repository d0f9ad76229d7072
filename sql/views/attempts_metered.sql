-- Attempts, with what each draws by the catalog at admission and at settlement. Tokens are null where the
-- attempt's usage is unknown. `w` is its weight in whole millionths, so that no order of addition shows.
SELECT * EXCLUDE (m),
  m['admission.requests'] AS admission_requests,
  m['admission.input_tokens'] AS admission_input_tokens,
  m['admission.output_tokens'] AS admission_output_tokens,
  m['admission.tokens'] AS admission_tokens,
  m['settlement.requests'] AS settlement_requests,
  m['settlement.input_tokens'] AS settlement_input_tokens,
  m['settlement.output_tokens'] AS settlement_output_tokens,
  m['settlement.tokens'] AS settlement_tokens,
  CAST(round(coalesce(weight, 1) * 1000000) AS BIGINT) AS w
FROM (
  SELECT *, meter(pool, start_time, service_tier, throttled, billed, input_tokens, input_uncached, cache_read,
    cache_write, cache_write_1h, coalesce(output_tokens, CASE WHEN kind <> 'model_call' THEN 0 END),
    reasoning_tokens, audio_tokens, max_output_tokens) AS m
  FROM attempts
)
