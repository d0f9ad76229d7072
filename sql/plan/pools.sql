-- Pools of the whole lake: attempts, refused attempts, busy and censored minutes of the history.
SELECT p.account, p.region, p.pool, coalesce(a.attempts, 0) AS attempts,
  coalesce(a.throttled_attempts, 0) AS throttled_attempts,
  coalesce(m.busy_minutes, 0) AS busy_minutes, coalesce(m.censored_minutes, 0) AS censored_minutes
FROM (SELECT DISTINCT account, region, pool FROM attempts WHERE pool IS NOT NULL) p
LEFT JOIN (
  SELECT account, region, pool, count(*) AS attempts, count(CASE WHEN throttled THEN 1 END) AS throttled_attempts
  FROM attempts
  WHERE start_time >= $from AND start_time < $to
  GROUP BY account, region, pool
) a ON a.pool = p.pool AND (a.account IS NOT DISTINCT FROM p.account) AND (a.region IS NOT DISTINCT FROM p.region)
LEFT JOIN (
  SELECT account, region, pool, count(DISTINCT minute) AS busy_minutes,
    count(DISTINCT CASE WHEN measure = 'throttled' THEN minute END) AS censored_minutes
  FROM minutes
  WHERE minute >= $from AND minute < $to
  GROUP BY account, region, pool
) m ON m.pool = p.pool AND (m.account IS NOT DISTINCT FROM p.account) AND (m.region IS NOT DISTINCT FROM p.region)
ORDER BY p.account, p.region, p.pool
