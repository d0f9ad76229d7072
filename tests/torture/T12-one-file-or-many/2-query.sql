-- 100 to 139 in steps of 1; and 7, forty times.
SELECT metric, n, p50, p95, max FROM run_profiles
WHERE grain = 'month' AND metric IN ('input_tokens', 'output_tokens') ORDER BY metric
