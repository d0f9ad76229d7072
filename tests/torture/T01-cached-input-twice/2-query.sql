-- The split of each call, and what it is said to rest on.
SELECT input_uncached, cache_read, cache_write, input_tokens, output_tokens
FROM model_calls ORDER BY start_time
