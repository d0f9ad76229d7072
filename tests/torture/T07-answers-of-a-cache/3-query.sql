-- Call by call, the cached one first.
SELECT attempts, cost_usd FROM model_calls ORDER BY start_time
