-- What each pool's attempts drew per minute, metered by the catalog, and how many were refused: the base
-- of several figures below. A sampled attempt counts as often as it weighs; sums are of whole millionths.
-- keeps: minutes
WITH summed AS (
  SELECT account, region, pool, minute,
    (sum(admission_requests * w) + 500000) / 1000000 AS admission_requests,
    (sum(admission_input_tokens * w) + 500000) / 1000000 AS admission_input_tokens,
    (sum(admission_output_tokens * w) + 500000) / 1000000 AS admission_output_tokens,
    (sum(admission_tokens * w) + 500000) / 1000000 AS admission_tokens,
    (sum(settlement_requests * w) + 500000) / 1000000 AS settlement_requests,
    (sum(settlement_input_tokens * w) + 500000) / 1000000 AS settlement_input_tokens,
    (sum(settlement_output_tokens * w) + 500000) / 1000000 AS settlement_output_tokens,
    (sum(settlement_tokens * w) + 500000) / 1000000 AS settlement_tokens
  FROM (SELECT *, CAST(start_time AS BIGINT) / 60000000 AS minute FROM attempts_metered)
  WHERE pool IS NOT NULL AND start_time < $to
  GROUP BY account, region, pool, minute
), measured AS (
  SELECT account, region, pool, minute, unnest([
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
SELECT account, region, pool, utc_second(minute * 60) AS minute, m['measure'] AS measure, m['amount'] AS amount
FROM measured
WHERE m['amount'] > 0
UNION ALL
SELECT account, region, pool, bucket AS minute, measure, amount
FROM lake.draw
WHERE window_s = 60 AND pool IS NOT NULL AND measure = 'throttled' AND bucket < $to
