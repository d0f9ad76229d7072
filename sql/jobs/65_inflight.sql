-- How many runs, model calls, tools and streams were in flight, per minute: the most at one instant
-- and the time-weighted mean, from an exact sweep of starts and ends. Intervals are half-open, so an
-- end and a start at the same instant do not overlap.
-- makes: inflight
-- key: boundary, name, bucket
-- partition: start_day
-- replaces: touched days
WITH intervals AS (
  SELECT 'run' AS boundary, workflow AS name, start_time AS started, end_time AS ended FROM runs
  WHERE start_day >= $lookback_day AND start_time < $to_time AND outcome NOT IN ('open', 'orphan')
  UNION ALL
  SELECT 'model', pool, start_time, plus_ms(start_time, duration_ms) FROM attempts
  WHERE start_day >= $lookback_day AND start_time < $to_time
  UNION ALL
  SELECT 'tool', tool, start_time, plus_ms(start_time, duration_ms) FROM tool_calls
  WHERE start_day >= $lookback_day AND start_time < $to_time
  UNION ALL
  SELECT 'stream', pool, start_time, plus_ms(start_time, duration_ms) FROM model_calls
  WHERE start_day >= $lookback_day AND start_time < $to_time AND streaming
), swept AS (
  SELECT boundary, name, in_flight(greatest(started, $from_time), least(ended, $to_time)) AS minutes
  FROM intervals
  WHERE ended > $from_time
  GROUP BY boundary, name
)
SELECT boundary, name, m['bucket'] AS bucket, m['max'] AS max, m['mean'] AS mean,
  CAST(m['bucket'] AS DATE) AS start_day
FROM (SELECT boundary, name, unnest(minutes) AS m FROM swept)
WHERE CAST(m['bucket'] AS DATE) IN (SELECT start_day FROM touched_days)
