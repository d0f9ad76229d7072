-- Finished runs that started inside a past occurrence of an event that names their workflow.
-- keeps: event_runs
SELECT o.event, o.occurrence, r.workflow, r.run_id, r.outcome, r.duration_ms
FROM runs r
JOIN occurrence_windows o ON o.workflow = r.workflow
  AND r.start_time >= o.window_start AND r.start_time < o.window_end
WHERE r.outcome NOT IN ('open', 'orphan')
