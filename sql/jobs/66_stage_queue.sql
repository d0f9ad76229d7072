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
), ages AS (
  SELECT stage, CAST(ended AS BIGINT) / 60000000 AS minute, max(queue_wait_ms) AS age_max_ms
  FROM waits
  GROUP BY stage, CAST(ended AS BIGINT) / 60000000
), swept AS (
  SELECT stage, in_flight(greatest(started, $from_time), ended) AS minutes FROM waits GROUP BY stage
), depths AS (
  SELECT stage, m['bucket'] AS bucket, m['max'] AS depth_max, m['mean'] AS depth_mean
  FROM (SELECT stage, unnest(minutes) AS m FROM swept)
)
SELECT d.stage, d.bucket, d.depth_max, d.depth_mean, a.age_max_ms, CAST(d.bucket AS DATE) AS start_day
FROM depths d
LEFT JOIN ages a ON a.stage = d.stage AND utc_second(a.minute * 60) = d.bucket
WHERE CAST(d.bucket AS DATE) IN (SELECT start_day FROM touched_days)
