-- What each tenant spends on models, by pool, and what the calls were worth that reserved units covered.
SELECT tenant, pool, sum(attempts) AS attempts, CAST(sum(known_cost_usd) AS DECIMAL(18, 2)) AS known_usd,
  CAST(sum(list_usd) AS DECIMAL(18, 2)) AS list_usd
FROM spend
GROUP BY tenant, pool
ORDER BY tenant, known_usd DESC, pool
