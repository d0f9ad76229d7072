-- The second run was kept with a probability of one in nine.
SELECT p50, n FROM run_profiles WHERE metric = 'input_tokens' AND grain = 'month'
