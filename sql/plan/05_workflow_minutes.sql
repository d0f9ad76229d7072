-- What each workflow's attempts drew from each pool per minute, metered by the catalog, in whole millionths: a
-- sampled attempt counts as often as it weighs.
-- keeps: workflow_minutes
WITH summed AS (
  SELECT account, region, pool, workflow, minute,
    sum(admission_requests * w) AS admission_requests,
    sum(admission_input_tokens * w) AS admission_input_tokens,
    sum(admission_output_tokens * w) AS admission_output_tokens,
    sum(admission_tokens * w) AS admission_tokens,
    sum(settlement_requests * w) AS settlement_requests,
    sum(settlement_input_tokens * w) AS settlement_input_tokens,
    sum(settlement_output_tokens * w) AS settlement_output_tokens,
    sum(settlement_tokens * w) AS settlement_tokens
  FROM (SELECT *, CAST(start_time AS BIGINT) / 60000000 AS minute FROM attempts_metered)
  WHERE pool IS NOT NULL AND start_time < $to
  GROUP BY account, region, pool, workflow, minute
), measured AS (
  SELECT account, region, pool, workflow, minute, unnest([
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
SELECT account, region, pool, workflow, utc_second(minute * 60) AS minute, m['measure'] AS measure,
  m['amount'] AS millionths
FROM measured
WHERE m['amount'] > 0
