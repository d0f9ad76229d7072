-- Calls that ended well, by the exact function.
SELECT count(*) AS n, percentiles(duration_ms, [0.05, 0.5]) AS p, count(ttft_ms) AS with_ttft
FROM model_calls WHERE status = 'ok'
