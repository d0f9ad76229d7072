-- What a run of each workflow takes, month by month: exact P50 and P95, with n and the known share.
SELECT workflow, metric, substr(CAST(window_start AS VARCHAR), 1, 7) AS month, n, round(coverage, 3) AS known, round(p50) AS p50, round(p95) AS p95
FROM run_profiles
WHERE grain = 'month' AND metric IN ('input_tokens', 'output_tokens', 'model_calls')
ORDER BY workflow, metric, window_start
