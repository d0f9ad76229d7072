-- What the profiles say: nothing of a first token, and the failed apart.
SELECT metric, n, p50 FROM run_profiles
WHERE grain = 'month' AND metric IN ('duration_ms', 'failed.duration_ms', 'ttft_ms') ORDER BY metric
