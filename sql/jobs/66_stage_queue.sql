-- What waited before dispatch, per minute: depth and age, from the queue waits that model calls tell.
-- makes: stage_queue
-- key: stage, bucket
-- partition: start_day
-- replaces: touched days
WITH waits AS (
  SELECT coalesce(workflow, '?') || ' / ' || coalesce(pool, '?') AS stage,
    plus_ms(start_time, -queue_wait_ms) AS started, start_time AS ended, queue_wait_ms
  FROM model_calls
  WHERE start_day >= $lookback_day AND start_time >= $from_time AND start_time < $to_time
    AND queue_wait_ms > 0
), steps AS (
  SELECT stage, at, sum(step) AS step
  FROM (
    SELECT stage, greatest(started, $from_time) AS at, 1 AS step FROM waits
    UNION ALL
    SELECT stage, ended, -1 FROM waits
  )
  GROUP BY stage, at
), levels AS (
  SELECT stage, at, sum(step) OVER (PARTITION BY stage ORDER BY at) AS level,
    lead(at) OVER (PARTITION BY stage ORDER BY at) AS until
  FROM steps
), minutes AS (
  SELECT stage, level, CAST(at AS BIGINT) AS at_us, CAST(until AS BIGINT) AS until_us,
    unnest(generate_series(CAST(at AS BIGINT) / 60000000, (CAST(until AS BIGINT) - 1) / 60000000)) AS minute
  FROM levels
  WHERE level > 0
), ages AS (
  SELECT stage, CAST(ended AS BIGINT) / 60000000 AS minute, max(queue_wait_ms) AS age_max_ms
  FROM waits
  GROUP BY stage, CAST(ended AS BIGINT) / 60000000
), depths AS (
  SELECT stage, minute, max(level) AS depth_max,
    CAST(sum(level * (least(until_us, minute * 60000000 + 60000000) - greatest(at_us, minute * 60000000))) AS DOUBLE)
      / 60000000 AS depth_mean
  FROM minutes
  GROUP BY stage, minute
)
SELECT d.stage, utc_second(d.minute * 60) AS bucket, d.depth_max, d.depth_mean, a.age_max_ms,
  CAST(utc_second(d.minute * 60) AS DATE) AS start_day
FROM depths d
LEFT JOIN ages a ON a.stage = d.stage AND a.minute = d.minute
WHERE CAST(utc_second(d.minute * 60) AS DATE) IN (SELECT start_day FROM touched_days)
