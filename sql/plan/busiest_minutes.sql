-- Per pool and measure: the minute of the history in which all workflows together drew the most, what each of
-- them drew in it, and each one's own busiest minute. Of equal minutes the earliest.
WITH drawn AS (
  SELECT *
  FROM (
    SELECT account, region, pool, measure, workflow, minute, (millionths + 500000) / 1000000 AS amount
    FROM workflow_minutes
    WHERE minute >= $from
  )
  WHERE amount > 0
), placed AS (
  SELECT *, row_number() OVER (PARTITION BY account, region, pool, measure ORDER BY together DESC, minute) AS place,
    row_number() OVER (PARTITION BY account, region, pool, measure, workflow ORDER BY amount DESC, minute) AS own_place
  FROM (
    SELECT *, sum(amount) OVER (PARTITION BY account, region, pool, measure, minute) AS together
    FROM drawn
  )
), busiest AS (
  SELECT account, region, pool, measure, minute FROM placed WHERE place = 1
)
SELECT o.account, o.region, o.pool, o.measure, b.minute, o.workflow,
  coalesce(d.amount, 0) AS amount, o.amount AS own_peak, o.minute AS own_minute
FROM placed o
JOIN busiest b ON b.pool = o.pool AND b.measure = o.measure
  AND (b.account IS NOT DISTINCT FROM o.account) AND (b.region IS NOT DISTINCT FROM o.region)
LEFT JOIN drawn d ON d.pool = o.pool AND d.measure = o.measure AND d.minute = b.minute
  AND (d.workflow IS NOT DISTINCT FROM o.workflow)
  AND (d.account IS NOT DISTINCT FROM o.account) AND (d.region IS NOT DISTINCT FROM o.region)
WHERE o.own_place = 1
ORDER BY o.account, o.region, o.pool, o.measure, coalesce(d.amount, 0) DESC, o.amount DESC, o.workflow
