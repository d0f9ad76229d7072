-- Dollars per day, workflow, tenant, tier and pool, at list price. A sampled attempt counts as often as it
-- weighs. `cost_usd` is null where the cost of any attempt is not known; `known_cost_usd` is the sum of those
-- whose cost is, `cost_coverage` their share of the billed ones, and `cache_not_told` the share of all whose
-- input was taken for uncached. What is paid for units held, whether they are used or not, is not in here: it
-- joins once, as the price of the reservation, and `list_usd` says what the calls were worth that they covered.
WITH paid AS (
  SELECT a.*, r.tenant, CAST(coalesce(a.weight, 1) AS DECIMAL(18, 6)) AS times
  FROM attempts a
  LEFT JOIN (SELECT run_id, tenant FROM runs) r ON r.run_id = a.run_id
)
SELECT start_day, workflow, tenant, tier, account, region, pool, service_tier,
  count(*) AS attempts,
  count(CASE WHEN billed THEN 1 END) AS billed,
  CASE WHEN count(*) = count(cost_usd) THEN CAST(sum(cost_usd * times) AS DECIMAL(38, 12)) END AS cost_usd,
  CAST(coalesce(sum(cost_usd * times), 0) AS DECIMAL(38, 12)) AS known_cost_usd,
  CASE WHEN count(*) = count(list_usd) THEN CAST(sum(list_usd * times) AS DECIMAL(38, 12)) END AS list_usd,
  CAST(count(CASE WHEN billed THEN cost_usd END) AS DOUBLE)
    / nullif(count(CASE WHEN billed THEN 1 END), 0) AS cost_coverage,
  CAST(count(CASE WHEN cost_basis = 'cache_not_told' THEN 1 END) AS DOUBLE)
    / nullif(count(CASE WHEN billed THEN 1 END), 0) AS cache_not_told
FROM paid
GROUP BY start_day, workflow, tenant, tier, account, region, pool, service_tier
