-- Three runs.
SELECT p95, n FROM run_profiles WHERE metric = 'input_tokens' AND grain = 'month'
