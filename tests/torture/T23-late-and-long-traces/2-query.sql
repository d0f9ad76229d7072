-- Both wait for their roots.
SELECT outcome, duration_ms, input_tokens, complete, (SELECT count(*) FROM run_profiles) AS profiles FROM runs ORDER BY run_id
