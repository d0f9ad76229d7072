-- What was drawn from each pool, per second and summed to 10, 60 and 300 seconds, from attempts.
-- Buckets are half-open and aligned to UTC; an attempt counts where it started. Attempts whose pool
-- is unknown stand under a null pool. The view `draw` adds what the catalog meters.
-- makes: draw
-- key: account, region, pool, window_s, bucket, measure
-- partition: start_day
-- replaces: touched days
WITH seconds AS (
  SELECT account, region, pool, CAST(start_time AS BIGINT) / 1000000 AS second,
    sum(weight) AS requests,
    sum(CASE WHEN throttled THEN weight END) AS throttled,
    sum(input_tokens * weight) AS input_tokens,
    sum(input_uncached * weight) AS input_uncached,
    sum(cache_read * weight) AS cache_read,
    sum(cache_write * weight) AS cache_write,
    sum(output_tokens * weight) AS output_tokens
  FROM attempts
  WHERE start_time >= $from_time AND start_time < $to_time
    AND CAST(start_time AS DATE) IN (SELECT start_day FROM touched_days)
  GROUP BY account, region, pool, CAST(start_time AS BIGINT) / 1000000
), buckets AS (
  SELECT account, region, pool, window_s, second / window_s * window_s AS bucket,
    sum(requests) AS requests, sum(throttled) AS throttled,
    sum(input_tokens) AS input_tokens, sum(input_uncached) AS input_uncached,
    sum(cache_read) AS cache_read, sum(cache_write) AS cache_write,
    sum(output_tokens) AS output_tokens
  FROM (SELECT *, unnest([1, 10, 60, 300]) AS window_s FROM seconds)
  GROUP BY account, region, pool, window_s, second / window_s * window_s
), measured AS (
  SELECT account, region, pool, window_s, bucket, unnest([
    named_struct('measure', 'requests', 'amount', requests),
    named_struct('measure', 'throttled', 'amount', throttled),
    named_struct('measure', 'input_tokens', 'amount', input_tokens),
    named_struct('measure', 'input_uncached', 'amount', input_uncached),
    named_struct('measure', 'cache_read', 'amount', cache_read),
    named_struct('measure', 'cache_write', 'amount', cache_write),
    named_struct('measure', 'output_tokens', 'amount', output_tokens)]) AS m
  FROM buckets
)
SELECT account, region, pool, window_s, utc_second(bucket) AS bucket,
  m['measure'] AS measure, CAST(round(m['amount']) AS BIGINT) AS amount,
  CAST(utc_second(bucket) AS DATE) AS start_day
FROM measured
WHERE m['amount'] > 0
