-- How far the data can be trusted: what is odd about spans (by day of receipt), about runs (by day of
-- the start), and what was quarantined, counted per service and dialect.
-- makes: quality
-- key: start_day, service, dialect, reason
-- partition: start_day
-- replaces: touched days
WITH totals AS (
  SELECT received_day AS start_day, service, dialect, count(*) AS of
  FROM spans
  WHERE received_day IN (SELECT start_day FROM touched_days)
  GROUP BY received_day, service, dialect
), odd AS (
  SELECT received_day AS start_day, service, dialect, trace_id, span_id, unnest(quality) AS reason
  FROM spans
  WHERE received_day IN (SELECT start_day FROM touched_days) AND cardinality(quality) > 0
), span_codes AS (
  SELECT start_day, service, dialect, reason, count(DISTINCT trace_id || span_id) AS count
  FROM odd
  GROUP BY start_day, service, dialect, reason
), run_totals AS (
  SELECT start_day, service, count(*) AS of
  FROM runs
  WHERE start_day IN (SELECT start_day FROM touched_days)
  GROUP BY start_day, service
), run_codes AS (
  SELECT start_day, service, reason, count(*) AS count
  FROM (
    SELECT start_day, service, unnest(quality) AS reason FROM runs
    WHERE start_day IN (SELECT start_day FROM touched_days)
  )
  GROUP BY start_day, service, reason
)
SELECT c.service, c.dialect, c.reason, c.count, t.of, c.start_day
FROM span_codes c
JOIN totals t ON t.start_day = c.start_day AND (t.service IS NOT DISTINCT FROM c.service)
  AND (t.dialect IS NOT DISTINCT FROM c.dialect)
UNION ALL
SELECT c.service, CAST(NULL AS VARCHAR) AS dialect, 'run.' || c.reason AS reason, c.count, t.of, c.start_day
FROM run_codes c
JOIN run_totals t ON t.start_day = c.start_day AND (t.service IS NOT DISTINCT FROM c.service)
UNION ALL
SELECT service, CAST(NULL AS VARCHAR) AS dialect, 'quarantined.' || reason AS reason, count(*) AS count,
  count(*) AS of, received_day AS start_day
FROM quarantine
WHERE received_day IN (SELECT start_day FROM touched_days)
GROUP BY service, reason, received_day
