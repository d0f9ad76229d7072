-- What was drawn from each pool per 1, 10, 60 and 300 seconds: the stored measures, and what the
-- catalog makes of them at admission and at settlement. Attempts without usage are not in the metered
-- token sums, so those are lower bounds where coverage is below 1.
SELECT account, region, pool, window_s, bucket, measure, amount
FROM lake.draw
UNION ALL
SELECT account, region, pool, window_s, utc_second(second / window_s * window_s) AS bucket, measure,
  sum(amount) AS amount
FROM (
  SELECT account, region, pool, second, m['measure'] AS measure, sum(m['amount']) AS amount,
    unnest([1, 10, 60, 300]) AS window_s
  FROM (
    SELECT account, region, pool, CAST(start_time AS BIGINT) / 1000000 AS second,
      unnest(meter(pool, start_time, throttled, billed, input_tokens, input_uncached, cache_read, cache_write, output_tokens,
        reasoning_tokens, max_output_tokens)) AS m
    FROM attempts
  )
  WHERE m['amount'] > 0
  GROUP BY account, region, pool, second, m['measure']
)
GROUP BY account, region, pool, window_s, second / window_s * window_s, measure
