-- Days and the month that holds them.
SELECT grain, n, p95 FROM run_profiles WHERE metric = 'duration_ms' ORDER BY grain, window_start
