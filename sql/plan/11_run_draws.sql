-- What each finished run drew from each pool, in every measure; null where a call's usage is unknown.
-- keeps: run_draws
WITH metered AS (
  SELECT run_id, account, region, pool,
    meter(pool, start_time, throttled, billed, input_tokens, input_uncached, cache_read, cache_write,
      output_tokens, reasoning_tokens, max_output_tokens) AS m
  FROM attempts
  WHERE pool IS NOT NULL AND start_day >= CAST($measured_from AS DATE)
), summed AS (
  SELECT run_id, account, region, pool,
    CASE WHEN count(*) = count(m['admission.requests']) THEN sum(m['admission.requests']) END AS admission_requests,
    CASE WHEN count(*) = count(m['admission.input_tokens']) THEN sum(m['admission.input_tokens']) END AS admission_input_tokens,
    CASE WHEN count(*) = count(m['admission.output_tokens']) THEN sum(m['admission.output_tokens']) END AS admission_output_tokens,
    CASE WHEN count(*) = count(m['admission.tokens']) THEN sum(m['admission.tokens']) END AS admission_tokens,
    CASE WHEN count(*) = count(m['settlement.requests']) THEN sum(m['settlement.requests']) END AS settlement_requests,
    CASE WHEN count(*) = count(m['settlement.input_tokens']) THEN sum(m['settlement.input_tokens']) END AS settlement_input_tokens,
    CASE WHEN count(*) = count(m['settlement.output_tokens']) THEN sum(m['settlement.output_tokens']) END AS settlement_output_tokens,
    CASE WHEN count(*) = count(m['settlement.tokens']) THEN sum(m['settlement.tokens']) END AS settlement_tokens
  FROM metered
  GROUP BY run_id, account, region, pool
), measured AS (
  SELECT run_id, account, region, pool, unnest([
    named_struct('measure', 'admission.requests', 'amount', admission_requests),
    named_struct('measure', 'admission.input_tokens', 'amount', admission_input_tokens),
    named_struct('measure', 'admission.output_tokens', 'amount', admission_output_tokens),
    named_struct('measure', 'admission.tokens', 'amount', admission_tokens),
    named_struct('measure', 'settlement.requests', 'amount', settlement_requests),
    named_struct('measure', 'settlement.input_tokens', 'amount', settlement_input_tokens),
    named_struct('measure', 'settlement.output_tokens', 'amount', settlement_output_tokens),
    named_struct('measure', 'settlement.tokens', 'amount', settlement_tokens)]) AS m
  FROM summed
)
SELECT r.run_id, r.workflow, r.start_time, d.account, d.region, d.pool, d.m['measure'] AS measure,
  d.m['amount'] AS amount
FROM measured d
JOIN runs r ON r.run_id = d.run_id
WHERE r.outcome NOT IN ('open', 'orphan') AND r.start_time >= $measured_from AND r.start_time < $to
