-- Spans, calls, tokens.
SELECT spans, model_calls, input_tokens, array_has(quality, 'span_id_conflict') AS conflict FROM runs ORDER BY start_time
