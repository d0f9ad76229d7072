-- How much the history holds.
SELECT
  (SELECT min(start_time) FROM runs) AS first_run,
  (SELECT count(*) FROM runs
   WHERE start_time >= $from AND start_time < $to AND outcome NOT IN ('open', 'orphan')) AS runs,
  (SELECT count(DISTINCT local_trunc('day', start_time)) FROM runs
   WHERE start_time >= $from AND start_time < $to) AS days_with_runs,
  (SELECT count(*) FROM model_calls
   WHERE kind = 'model_call' AND start_time >= $from AND start_time < $to) AS model_calls,
  (SELECT count(*) FROM model_calls
   WHERE kind = 'model_call' AND start_time >= $from AND start_time < $to
     AND input_tokens IS NOT NULL AND output_tokens IS NOT NULL) AS model_calls_with_usage,
  (SELECT count(*) FROM attempts WHERE start_time >= $from AND start_time < $to) AS attempts,
  (SELECT count(*) FROM attempts
   WHERE start_time >= $from AND start_time < $to AND throttled) AS throttled_attempts
