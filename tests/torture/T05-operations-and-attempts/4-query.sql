-- Operations, attempts, billed attempts: three numbers.
SELECT model_calls, model_attempts, throttled_attempts, retries, input_tokens, output_tokens, spans FROM runs
