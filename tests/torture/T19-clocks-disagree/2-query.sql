-- Durations and own time.
SELECT duration_ms, own_ms, model_ms, array_has(quality, 'negative_duration') AS negative FROM runs ORDER BY start_time
