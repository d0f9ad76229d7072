-- What a finished run cost on demand over the history, by workflow and tenant: mean (as a sum) and P50 over
-- the runs whose cost is known; and what was spent in the local month of the plan's instant up to it, runs that
-- are not finished included as far as their cost is known. A sampled run counts as often as it weighs. What
-- calls on held units are worth is in neither: the plan counts those once, as the price of the units.
WITH paid AS (
  SELECT workflow, tenant, weight, CAST(weight AS DECIMAL(18, 6)) AS times, cost_usd, known_cost_usd,
    start_time >= $from AND outcome NOT IN ('open', 'orphan') AS finished,
    start_time >= $month AS of_month
  FROM runs
  WHERE workflow IS NOT NULL AND start_time < $to AND (start_time >= $from OR start_time >= $month)
)
SELECT workflow, tenant,
  CAST(round(coalesce(sum(CASE WHEN finished THEN weight END), 0)) AS BIGINT) AS runs,
  CAST(round(coalesce(sum(CASE WHEN finished AND cost_usd IS NOT NULL THEN weight END), 0)) AS BIGINT) AS priced_runs,
  CAST(CAST(coalesce(sum(CASE WHEN finished THEN cost_usd * times END), CAST(0 AS DECIMAL(38, 18)))
    AS DECIMAL(38, 12)) AS VARCHAR) AS usd,
  percentiles(CASE WHEN finished THEN CAST(round(cost_usd * 1000000000) AS DOUBLE) END, weight, [0.5])[1] AS p50_nano_usd,
  CAST(CAST(sum(CASE WHEN of_month THEN known_cost_usd * times END) AS DECIMAL(38, 12)) AS VARCHAR) AS to_date_usd
FROM paid
GROUP BY workflow, tenant
ORDER BY workflow, tenant
