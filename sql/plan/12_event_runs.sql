-- Finished runs that started inside a past occurrence of an event that names their workflow. Profiles of an
-- event are made from those that `count`: of the model and prompt version that the workflow runs now, where
-- the event saw twenty of them, else all.
-- keeps: event_runs
WITH finished AS (
  SELECT *, concat(coalesce(model_version, ''), ' ', coalesce(prompt_version, '')) AS version
  FROM runs
  WHERE workflow IS NOT NULL AND outcome NOT IN ('open', 'orphan') AND start_time < $to
), latest AS (
  SELECT workflow, version
  FROM (
    SELECT workflow, version, row_number() OVER (PARTITION BY workflow ORDER BY start_time DESC, run_id) AS place
    FROM finished
    WHERE model_version IS NOT NULL
  )
  WHERE place <= 100
), newest AS (
  SELECT workflow, version
  FROM (
    SELECT workflow, version, row_number() OVER (PARTITION BY workflow ORDER BY count(*) DESC, version) AS place
    FROM latest
    GROUP BY workflow, version
  )
  WHERE place = 1
), inside AS (
  SELECT o.event, o.occurrence, o.window_start, f.workflow, f.run_id, f.start_time, f.outcome, f.duration_ms,
    f.version = n.version AS is_newest,
    sum(CASE WHEN f.version = n.version THEN 1 ELSE 0 END) OVER (PARTITION BY o.event, f.workflow) AS of_newest
  FROM finished f
  JOIN occurrence_windows o ON o.workflow = f.workflow
    AND f.start_time >= o.window_start AND f.start_time < o.window_end
  LEFT JOIN newest n ON n.workflow = f.workflow
)
SELECT event, occurrence, window_start, workflow, run_id, start_time, outcome, duration_ms,
  of_newest < 20 OR coalesce(is_newest, false) AS counts
FROM inside
