-- Which workflow draws how much of each pool, over the history.
SELECT account, region, pool, measure, workflow, sum(amount) AS amount
FROM run_draws
WHERE workflow IS NOT NULL AND start_time >= $from AND start_time < $to AND amount > 0
GROUP BY account, region, pool, measure, workflow
ORDER BY account, region, pool, measure, amount DESC, workflow
