-- Call by call, the cached one first.
SELECT cost_usd FROM model_calls ORDER BY start_time
