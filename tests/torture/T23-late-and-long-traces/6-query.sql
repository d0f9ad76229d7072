-- The late call is in the month's figures.
SELECT p50, n, substr(CAST(window_start AS VARCHAR), 1, 7) AS month FROM run_profiles WHERE metric = 'input_tokens' AND grain = 'month'
