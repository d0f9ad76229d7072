-- What each workflow spends on models a month, by tier, at list price: the sum of what is known, and how much is.
SELECT workflow, tier, substr(CAST(start_day AS VARCHAR), 1, 7) AS month, sum(attempts) AS attempts,
  CAST(sum(known_cost_usd) AS DECIMAL(18, 2)) AS known_usd,
  round(sum(cost_coverage * billed) / sum(billed), 3) AS known,
  round(sum(cache_not_told * billed) / sum(billed), 3) AS cache_not_told
FROM spend
GROUP BY workflow, tier, substr(CAST(start_day AS VARCHAR), 1, 7)
ORDER BY workflow, tier, month
