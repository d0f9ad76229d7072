-- When runs start inside the past occurrences of each event: by quarters of an hour since the beginning of a
-- window, over all windows.
SELECT event, workflow, (CAST(start_time AS BIGINT) - CAST(window_start AS BIGINT)) / 900000000 AS quarter,
  count(*) AS starts
FROM (SELECT DISTINCT event, window_start, workflow, run_id, start_time FROM event_runs)
GROUP BY event, workflow, (CAST(start_time AS BIGINT) - CAST(window_start AS BIGINT)) / 900000000
ORDER BY event, workflow, quarter
