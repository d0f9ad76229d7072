-- Tokens that each pool served over the history, by kind, from attempts whose usage is known.
SELECT account, region, pool, coalesce(sum(input_uncached), 0) AS input_uncached,
  coalesce(sum(cache_read), 0) AS cache_read, coalesce(sum(cache_write), 0) AS cache_write,
  coalesce(sum(output_tokens), 0) AS output
FROM attempts
WHERE pool IS NOT NULL AND start_time >= $from AND start_time < $to
GROUP BY account, region, pool
ORDER BY account, region, pool
