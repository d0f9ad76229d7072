-- Per pool and measure: the minute of the history in which all workflows together drew the most, what each of
-- them drew in it, and each one's own busiest minute. Of equal minutes the earliest; a sampled attempt counts
-- as often as it weighs.
WITH summed AS (
  SELECT account, region, pool, workflow, minute,
    (sum(admission_requests * w) + 500000) / 1000000 AS admission_requests,
    (sum(admission_input_tokens * w) + 500000) / 1000000 AS admission_input_tokens,
    (sum(admission_output_tokens * w) + 500000) / 1000000 AS admission_output_tokens,
    (sum(admission_tokens * w) + 500000) / 1000000 AS admission_tokens,
    (sum(settlement_requests * w) + 500000) / 1000000 AS settlement_requests,
    (sum(settlement_input_tokens * w) + 500000) / 1000000 AS settlement_input_tokens,
    (sum(settlement_output_tokens * w) + 500000) / 1000000 AS settlement_output_tokens,
    (sum(settlement_tokens * w) + 500000) / 1000000 AS settlement_tokens
  FROM (SELECT *, CAST(start_time AS BIGINT) / 60000000 AS minute FROM attempts_metered)
  WHERE pool IS NOT NULL AND start_time >= $from AND start_time < $to
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
), drawn AS (
  SELECT account, region, pool, m['measure'] AS measure, workflow, minute, m['amount'] AS amount
  FROM measured
  WHERE m['amount'] > 0
), placed AS (
  SELECT *, row_number() OVER (PARTITION BY account, region, pool, measure ORDER BY together DESC, minute) AS place,
    row_number() OVER (PARTITION BY account, region, pool, measure, workflow ORDER BY amount DESC, minute) AS own_place
  FROM (
    SELECT *, sum(amount) OVER (PARTITION BY account, region, pool, measure, minute) AS together
    FROM drawn
  )
), busiest AS (
  SELECT account, region, pool, measure, minute FROM placed WHERE place = 1
)
SELECT o.account, o.region, o.pool, o.measure, utc_second(b.minute * 60) AS minute, o.workflow,
  coalesce(d.amount, 0) AS amount, o.amount AS own_peak, utc_second(o.minute * 60) AS own_minute
FROM placed o
JOIN busiest b ON b.pool = o.pool AND b.measure = o.measure
  AND (b.account IS NOT DISTINCT FROM o.account) AND (b.region IS NOT DISTINCT FROM o.region)
LEFT JOIN drawn d ON d.pool = o.pool AND d.measure = o.measure AND d.minute = b.minute
  AND (d.workflow IS NOT DISTINCT FROM o.workflow)
  AND (d.account IS NOT DISTINCT FROM o.account) AND (d.region IS NOT DISTINCT FROM o.region)
WHERE o.own_place = 1
ORDER BY o.account, o.region, o.pool, o.measure, coalesce(d.amount, 0) DESC, o.amount DESC, o.workflow
