-- Of the two records of one span the one with the finer start stands.
SELECT start_time FROM model_calls WHERE run_id = '00000000000000000000000000000281'
