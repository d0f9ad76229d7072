-- One run of two spans.
SELECT run_id, spans, model_calls, complete FROM runs
