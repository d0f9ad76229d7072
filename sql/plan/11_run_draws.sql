-- What each finished run drew from each pool, in every measure; null where a call's usage is unknown.
-- keeps: run_draws
SELECT r.run_id, r.workflow, r.start_time, d.account, d.region, d.pool, d.measure, d.amount
FROM (
  SELECT run_id, account, region, pool, m['measure'] AS measure,
    CASE WHEN count(*) = count(m['amount']) THEN sum(m['amount']) END AS amount
  FROM (
    SELECT run_id, account, region, pool,
      unnest(meter(pool, start_time, throttled, billed, input_tokens, input_uncached, cache_read, cache_write, output_tokens,
        reasoning_tokens, max_output_tokens)) AS m
    FROM attempts
    WHERE pool IS NOT NULL AND start_day >= CAST($measured_from AS DATE)
  )
  GROUP BY run_id, account, region, pool, m['measure']
) d
JOIN runs r ON r.run_id = d.run_id
WHERE r.outcome NOT IN ('open', 'orphan') AND r.start_time >= $measured_from AND r.start_time < $to
