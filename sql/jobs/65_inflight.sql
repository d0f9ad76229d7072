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
), clipped AS (
  SELECT boundary, name, greatest(started, $from_time) AS started, least(ended, $to_time) AS ended
  FROM intervals
  WHERE ended > $from_time AND ended > started
), steps AS (
  SELECT boundary, name, at, sum(step) AS step
  FROM (
    SELECT boundary, name, started AS at, 1 AS step FROM clipped
    UNION ALL
    SELECT boundary, name, ended, -1 FROM clipped
  )
  GROUP BY boundary, name, at
), levels AS (
  SELECT boundary, name, at,
    sum(step) OVER (PARTITION BY boundary, name ORDER BY at) AS level,
    lead(at) OVER (PARTITION BY boundary, name ORDER BY at) AS until
  FROM steps
), minutes AS (
  SELECT boundary, name, level, CAST(at AS BIGINT) AS at_us, CAST(until AS BIGINT) AS until_us,
    unnest(generate_series(CAST(at AS BIGINT) / 60000000, (CAST(until AS BIGINT) - 1) / 60000000)) AS minute
  FROM levels
  WHERE level > 0
)
SELECT boundary, name, utc_second(minute * 60) AS bucket, max(level) AS max,
  CAST(sum(level * (least(until_us, minute * 60000000 + 60000000) - greatest(at_us, minute * 60000000))) AS DOUBLE)
    / 60000000 AS mean,
  CAST(utc_second(minute * 60) AS DATE) AS start_day
FROM minutes
WHERE CAST(utc_second(minute * 60) AS DATE) IN (SELECT start_day FROM touched_days)
GROUP BY boundary, name, minute
