-- One row per run, totals of the billed calls.
SELECT model_calls, input_tokens, output_tokens, array_has(quality, 'usage_aggregate') AS aggregate
FROM runs ORDER BY start_time
