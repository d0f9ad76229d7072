-- Runs to replay as they were: all that were under way between $from and $to, the ones that had begun before and
-- the ones that are not over too, in the shape of chosen_runs. Runs of more than a day are left out.
SELECT CAST(NULL AS VARCHAR) AS event, coalesce(workflow, '(no name)') AS workflow, run_id, start_time,
  request_class AS class, coalesce(resumed_from_step = 1, false) AS restarted,
  coalesce(model_attempts, 0) + coalesce(tool_calls, 0) AS calls
FROM runs
WHERE start_time >= $measured_from AND start_time < $to AND coalesce(end_time, start_time) >= $from
