-- A run's tokens are those of its generation calls, each counted once; null where the usage of
-- one that succeeded is unknown.
SELECT r.run_id, r.input_tokens, c.input_tokens AS of_calls, r.output_tokens, c.output_tokens AS of_outputs
FROM runs r
JOIN (
  SELECT run_id, count(*) AS calls, sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens,
    count(CASE WHEN status = 'ok' AND input_tokens IS NULL THEN 1 END) AS unknown,
    count(CASE WHEN status = 'ok' AND output_tokens IS NULL THEN 1 END) AS unknown_output
  FROM model_calls
  WHERE kind = 'model_call'
  GROUP BY run_id
) c ON c.run_id = r.run_id
WHERE r.model_calls <> c.calls
  OR (r.input_tokens IS DISTINCT FROM CASE WHEN c.unknown = 0 THEN coalesce(c.input_tokens, 0) END)
  OR (r.output_tokens IS DISTINCT FROM CASE WHEN c.unknown_output = 0 THEN coalesce(c.output_tokens, 0) END)
