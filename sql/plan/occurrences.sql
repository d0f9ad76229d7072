-- Each past occurrence of an event as each of its workflows lived it.
WITH occurrences AS (
  SELECT event, occurrence, workflow, min(window_start) AS start, max(window_end) AS "end"
  FROM occurrence_windows
  GROUP BY event, occurrence, workflow
), started AS (
  SELECT event, occurrence, workflow, count(*) AS runs
  FROM event_runs
  GROUP BY event, occurrence, workflow
), flying AS (
  SELECT o.event, o.occurrence, o.workflow,
    CAST(round(sum(i.mean) * 1000 / count(*)) AS BIGINT) AS in_flight_mean_milli, max(i.max) AS in_flight_max
  FROM inflight i
  JOIN occurrence_windows o ON o.workflow = i.name
    AND i.bucket >= o.window_start AND i.bucket < o.window_end
  WHERE i.boundary = 'run'
  GROUP BY o.event, o.occurrence, o.workflow
), sent AS (
  SELECT o.event, o.occurrence, o.workflow, count(*) AS attempts,
    count(CASE WHEN a.throttled THEN 1 END) AS throttled_attempts
  FROM attempts a
  JOIN occurrence_windows o ON o.workflow = a.workflow
    AND a.start_time >= o.window_start AND a.start_time < o.window_end
  GROUP BY o.event, o.occurrence, o.workflow
)
SELECT o.event, o.workflow, o.start, o."end", coalesce(s.runs, 0) AS runs,
  coalesce(f.in_flight_mean_milli, 0) AS in_flight_mean_milli, coalesce(f.in_flight_max, 0) AS in_flight_max,
  coalesce(a.attempts, 0) AS attempts, coalesce(a.throttled_attempts, 0) AS throttled_attempts
FROM occurrences o
LEFT JOIN started s ON s.event = o.event AND s.occurrence = o.occurrence AND s.workflow = o.workflow
LEFT JOIN flying f ON f.event = o.event AND f.occurrence = o.occurrence AND f.workflow = o.workflow
LEFT JOIN sent a ON a.event = o.event AND a.occurrence = o.occurrence AND a.workflow = o.workflow
WHERE o."end" > (SELECT min(start_time) FROM runs)
ORDER BY o.event, o.workflow, o.start
