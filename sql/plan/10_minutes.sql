-- What each pool's attempts drew per minute, and how many were refused: the base of several figures below. It is
-- rounded here, once.
-- keeps: minutes
SELECT account, region, pool, minute, measure, amount
FROM (
  SELECT account, region, pool, minute, measure, (sum(millionths) + 500000) / 1000000 AS amount
  FROM workflow_minutes
  GROUP BY account, region, pool, minute, measure
)
WHERE amount > 0
UNION ALL
SELECT account, region, pool, bucket AS minute, measure, amount
FROM lake.draw
WHERE window_s = 60 AND pool IS NOT NULL AND measure = 'throttled' AND bucket < $to
