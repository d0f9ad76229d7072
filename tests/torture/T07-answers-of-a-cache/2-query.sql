-- Two operations, one of which a provider served.
SELECT model_calls, (SELECT count(*) FROM attempts) AS requests, input_tokens, output_tokens,
  cost_usd, cost_coverage
FROM runs
