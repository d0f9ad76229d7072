-- A field that the first file lacks.
SELECT input_tokens, output_tokens, reasoning_tokens FROM model_calls ORDER BY start_time
