-- What was drawn from each pool, per second and summed to 10, 60 and 300 seconds, from attempts.
-- Buckets are half-open and aligned to UTC; an attempt counts where it started, as often as it weighs.
-- Sums are of whole millionths, so that no order of addition shows. Attempts whose pool is unknown stand
-- under a null pool. The view `draw` adds what the catalog meters.
-- makes: draw
-- key: account, region, pool, window_s, bucket, measure
-- partition: start_day
-- replaces: touched days
WITH weighed AS (
  SELECT *, CAST(round(coalesce(weight, 1) * 1000000) AS BIGINT) AS w, CAST(start_time AS BIGINT) / 1000000 AS second
  FROM attempts
  WHERE start_time >= $from_time AND start_time < $to_time
    AND CAST(start_time AS DATE) IN (SELECT start_day FROM touched_days)
), seconds AS (
  SELECT account, region, pool, second,
    sum(w) AS requests,
    sum(CASE WHEN throttled THEN w END) AS throttled,
    sum(input_tokens * w) AS input_tokens,
    sum(input_uncached * w) AS input_uncached,
    sum(cache_read * w) AS cache_read,
    sum(cache_write * w) AS cache_write,
    sum(output_tokens * w) AS output_tokens
  FROM weighed
  GROUP BY account, region, pool, second
), buckets AS (
  SELECT account, region, pool, window_s, second / window_s * window_s AS bucket,
    sum(requests) AS requests, sum(throttled) AS throttled,
    sum(input_tokens) AS input_tokens, sum(input_uncached) AS input_uncached,
    sum(cache_read) AS cache_read, sum(cache_write) AS cache_write,
    sum(output_tokens) AS output_tokens
  FROM (SELECT *, unnest([1, 10, 60, 300]) AS window_s FROM seconds)
  GROUP BY account, region, pool, window_s, second / window_s * window_s
), measured AS (
  SELECT account, region, pool, window_s, bucket, unnest(range(1, 8)) AS number,
    unnest([requests, throttled, input_tokens, input_uncached, cache_read, cache_write, output_tokens]) AS millionths
  FROM buckets
)
SELECT account, region, pool, window_s, utc_second(bucket) AS bucket,
  CASE number WHEN 1 THEN 'requests' WHEN 2 THEN 'throttled' WHEN 3 THEN 'input_tokens'
    WHEN 4 THEN 'input_uncached' WHEN 5 THEN 'cache_read' WHEN 6 THEN 'cache_write'
    ELSE 'output_tokens' END AS measure,
  (millionths + 500000) / 1000000 AS amount,
  CAST(utc_second(bucket) AS DATE) AS start_day
FROM measured
WHERE millionths >= 500000
