-- The percentile and how much it rests on.
SELECT p50, n, coverage FROM run_profiles WHERE metric = 'input_tokens' AND grain = 'month'
