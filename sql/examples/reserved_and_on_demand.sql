-- A month with reserved units, paid once. Write what was paid for them into `bought`. Billed is that and what calls
-- cost beside; amortised spreads the same sum: what covered calls were worth, what was left unused, and the rest.
-- The price of units and the worth of the calls that they cover are never added up.
WITH bought (pool, paid_usd) AS (
  VALUES ('azure.ai.openai/provisioned/datazone/gpt-5.2', CAST(4050 AS DECIMAL(18, 2)))
), spent AS (
  SELECT substr(CAST(a.start_day AS VARCHAR), 1, 7) AS month,
    sum(CASE WHEN cost_basis = 'units' THEN list_usd END) AS covered_usd,
    sum(CASE WHEN cost_basis <> 'units' THEN cost_usd END) AS on_demand_usd
  FROM attempts a
  GROUP BY substr(CAST(a.start_day AS VARCHAR), 1, 7)
)
SELECT month, CAST(paid_usd AS DECIMAL(18, 2)) AS units_usd, CAST(on_demand_usd AS DECIMAL(18, 2)) AS on_demand_usd,
  CAST(paid_usd + on_demand_usd AS DECIMAL(18, 2)) AS billed_usd,
  CAST(covered_usd AS DECIMAL(18, 2)) AS covered_usd,
  CAST(greatest(paid_usd - covered_usd, 0) AS DECIMAL(18, 2)) AS unused_usd
FROM spent, (SELECT sum(paid_usd) AS paid_usd FROM bought)
ORDER BY month
