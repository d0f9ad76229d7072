-- The run beside the sums over what was billed.
SELECT r.input_tokens, r.output_tokens, b.requests, b.input AS billed_input, b.output AS billed_output, r.cost_usd
FROM runs r JOIN (
  SELECT run_id, count(*) AS requests, sum(input_tokens) AS input, sum(output_tokens) AS output
  FROM attempts WHERE billed GROUP BY run_id
) b ON b.run_id = r.run_id
