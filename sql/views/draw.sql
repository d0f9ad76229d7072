-- What was drawn from each pool per 1, 10, 60 and 300 seconds: the stored measures, and what the
-- catalog makes of them at admission and at settlement. Attempts without usage are not in the metered
-- token sums, so those are lower bounds where coverage is below 1. A sampled attempt counts as often as it
-- weighs; sums are of whole millionths.
WITH seconds AS (
  SELECT account, region, pool, second,
    sum(admission_requests * w) AS admission_requests,
    sum(admission_input_tokens * w) AS admission_input_tokens,
    sum(admission_output_tokens * w) AS admission_output_tokens,
    sum(admission_tokens * w) AS admission_tokens,
    sum(settlement_requests * w) AS settlement_requests,
    sum(settlement_input_tokens * w) AS settlement_input_tokens,
    sum(settlement_output_tokens * w) AS settlement_output_tokens,
    sum(settlement_tokens * w) AS settlement_tokens
  FROM (SELECT *, CAST(start_time AS BIGINT) / 1000000 AS second FROM attempts_metered)
  GROUP BY account, region, pool, second
), measured AS (
  SELECT account, region, pool, second, unnest([
    named_struct('measure', 'admission.requests', 'amount', admission_requests),
    named_struct('measure', 'admission.input_tokens', 'amount', admission_input_tokens),
    named_struct('measure', 'admission.output_tokens', 'amount', admission_output_tokens),
    named_struct('measure', 'admission.tokens', 'amount', admission_tokens),
    named_struct('measure', 'settlement.requests', 'amount', settlement_requests),
    named_struct('measure', 'settlement.input_tokens', 'amount', settlement_input_tokens),
    named_struct('measure', 'settlement.output_tokens', 'amount', settlement_output_tokens),
    named_struct('measure', 'settlement.tokens', 'amount', settlement_tokens)]) AS m
  FROM seconds
), windowed AS (
  SELECT account, region, pool, second, m['measure'] AS measure, m['amount'] AS amount,
    unnest([1, 10, 60, 300]) AS window_s
  FROM measured
  WHERE m['amount'] > 0
)
SELECT account, region, pool, window_s, bucket, measure, amount
FROM lake.draw
UNION ALL
SELECT account, region, pool, window_s, utc_second(second / window_s * window_s) AS bucket, measure,
  (sum(amount) + 500000) / 1000000 AS amount
FROM windowed
GROUP BY account, region, pool, window_s, second / window_s * window_s, measure
