-- The root came: counted once, in January.
SELECT outcome, duration_ms, input_tokens, CAST(start_day AS VARCHAR) AS day FROM runs ORDER BY run_id
