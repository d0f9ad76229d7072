-- What each finished run drew from each pool, in every measure; null where a call's usage is unknown.
-- keeps: run_draws
WITH summed AS (
  SELECT run_id, account, region, pool,
    CASE WHEN count(*) = count(admission_requests) THEN sum(admission_requests) END AS admission_requests,
    CASE WHEN count(*) = count(admission_input_tokens) THEN sum(admission_input_tokens) END AS admission_input_tokens,
    CASE WHEN count(*) = count(admission_output_tokens) THEN sum(admission_output_tokens) END AS admission_output_tokens,
    CASE WHEN count(*) = count(admission_tokens) THEN sum(admission_tokens) END AS admission_tokens,
    CASE WHEN count(*) = count(settlement_requests) THEN sum(settlement_requests) END AS settlement_requests,
    CASE WHEN count(*) = count(settlement_input_tokens) THEN sum(settlement_input_tokens) END AS settlement_input_tokens,
    CASE WHEN count(*) = count(settlement_output_tokens) THEN sum(settlement_output_tokens) END AS settlement_output_tokens,
    CASE WHEN count(*) = count(settlement_tokens) THEN sum(settlement_tokens) END AS settlement_tokens
  FROM attempts_metered
  WHERE pool IS NOT NULL AND start_day >= CAST($measured_from AS DATE)
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
