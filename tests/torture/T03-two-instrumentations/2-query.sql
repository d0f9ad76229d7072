-- Calls and tokens per run.
SELECT model_calls, input_tokens + output_tokens AS tokens,
  array_has(quality, 'possible_double_instrumentation') AS doubt
FROM runs ORDER BY start_time
