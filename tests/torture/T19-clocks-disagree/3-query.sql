-- Only the run with a duration is in the percentile.
SELECT sum(n) AS n, max(max) AS max FROM run_profiles WHERE metric = 'duration_ms' AND grain = 'month'
