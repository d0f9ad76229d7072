-- Six hours past its last span, by what was received since.
SELECT outcome, model_calls, input_tokens FROM runs ORDER BY run_id
