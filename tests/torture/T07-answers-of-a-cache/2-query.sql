-- Two operations, one of which a provider served.
SELECT model_calls, model_attempts, input_tokens, output_tokens FROM runs
