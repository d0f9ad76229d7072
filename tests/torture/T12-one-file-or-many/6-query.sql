-- Repeats change nothing.
SELECT metric, n, p50, p95, max FROM run_profiles
WHERE grain = 'month' AND metric IN ('input_tokens', 'output_tokens') ORDER BY metric
