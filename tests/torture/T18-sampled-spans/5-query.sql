-- Percentiles by weight: n is the runs that were seen, weight those that they stand for.
SELECT n, weight, mean, p50 FROM run_profiles WHERE metric = 'input_tokens' AND grain = 'month'
