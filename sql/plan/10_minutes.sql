-- What each pool's attempts drew per minute, metered by the catalog, and how many were refused: the base
-- of several figures below.
-- keeps: minutes
SELECT account, region, pool, utc_second(minute * 60) AS minute, m['measure'] AS measure, sum(m['amount']) AS amount
FROM (
  SELECT account, region, pool, CAST(start_time AS BIGINT) / 60000000 AS minute,
    unnest(meter(pool, start_time, throttled, billed, input_tokens, input_uncached, cache_read, cache_write,
      output_tokens, reasoning_tokens, max_output_tokens)) AS m
  FROM attempts
  WHERE pool IS NOT NULL AND start_time < $to
)
WHERE m['amount'] > 0
GROUP BY account, region, pool, minute, m['measure']
UNION ALL
SELECT account, region, pool, bucket AS minute, measure, amount
FROM lake.draw
WHERE window_s = 60 AND pool IS NOT NULL AND measure = 'throttled' AND bucket < $to
