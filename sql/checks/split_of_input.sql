-- Input is split, never guessed at: uncached + cache read + cache write is the input.
SELECT run_id, span_id, input_tokens, input_uncached, cache_read, cache_write
FROM model_calls
WHERE input_tokens <> input_uncached + cache_read + cache_write
