-- Per pool, hour and measure, over the whole lake: the sum, the busiest minute, the refused attempts.
WITH refused AS (
  SELECT account, region, pool, date_trunc('hour', minute) AS hour, sum(amount) AS throttled
  FROM minutes
  WHERE measure = 'throttled'
  GROUP BY account, region, pool, date_trunc('hour', minute)
), hours AS (
  SELECT account, region, pool, date_trunc('hour', minute) AS hour, measure,
    sum(amount) AS sum, max(amount) AS busiest_minute
  FROM minutes
  WHERE measure <> 'throttled' AND minute < $to
  GROUP BY account, region, pool, date_trunc('hour', minute), measure
)
SELECT h.account, h.region, h.pool, h.hour, h.measure, h.sum, h.busiest_minute,
  coalesce(r.throttled, 0) AS throttled
FROM hours h
LEFT JOIN refused r ON r.hour = h.hour AND r.pool = h.pool
  AND (r.account IS NOT DISTINCT FROM h.account) AND (r.region IS NOT DISTINCT FROM h.region)
ORDER BY h.account, h.region, h.pool, h.measure, h.hour
