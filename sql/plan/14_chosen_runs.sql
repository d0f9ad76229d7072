-- Finished runs to replay: of each workflow over the history, and inside the past occurrences of each event; at
-- most 400 of each, scattered over the time and always the same ones. A run that was `restarted` did its first
-- steps twice, since a limit had stopped it.
-- keeps: chosen_runs
WITH candidates AS (
  SELECT CAST(NULL AS VARCHAR) AS event, workflow, run_id, start_time, request_class, resumed_from_step
  FROM runs
  WHERE workflow IS NOT NULL AND start_time >= $from AND start_time < $to AND outcome NOT IN ('open', 'orphan')
  UNION ALL
  SELECT e.event, r.workflow, r.run_id, r.start_time, r.request_class, r.resumed_from_step
  FROM (SELECT DISTINCT event, run_id FROM event_runs WHERE counts) e
  JOIN runs r ON r.run_id = e.run_id
)
SELECT event, workflow, run_id, start_time, request_class AS class, coalesce(resumed_from_step = 1, false) AS restarted
FROM (
  SELECT *, row_number() OVER (PARTITION BY workflow, event
    ORDER BY CAST(start_time AS BIGINT) % 1000003 * 7919 % 1000003, run_id) AS place
  FROM candidates
)
WHERE place <= 400
