-- What each pool is charged when calls start and what that is corrected to at their end, in the busiest minute of
-- each: where the first is far above the second, a lower max_tokens frees more than a request asks for.
WITH minutes AS (
  SELECT account, region, pool, bucket, substr(measure, strpos(measure, '.') + 1) AS counts,
    sum(CASE WHEN starts_with(measure, 'admission.') THEN amount END) AS admission,
    sum(CASE WHEN starts_with(measure, 'settlement.') THEN amount END) AS settlement
  FROM draw
  WHERE window_s = 60 AND strpos(measure, '.') > 0
  GROUP BY account, region, pool, bucket, substr(measure, strpos(measure, '.') + 1)
)
SELECT account, region, pool, counts, sum(admission) AS admission, sum(settlement) AS settlement,
  max(admission) AS busiest_admission, max(settlement) AS busiest_settlement
FROM minutes
GROUP BY account, region, pool, counts
ORDER BY account, region, pool, counts
