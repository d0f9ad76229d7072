-- How long each throttled run waited for limits, in microseconds: from when a call was wanted to when it was
-- let in; where it never was, since the run parked, to when the next one was. Waits that overlap count once.
-- keeps: limit_waits
WITH operations AS (
  SELECT run_id, operation_span_id, min(CAST(start_time AS BIGINT)) AS wanted,
    max(CAST(start_time AS BIGINT)) AS last_sent,
    max(CASE WHEN NOT throttled THEN CAST(start_time AS BIGINT) END) AS let_in,
    max(CASE WHEN throttled THEN 1 ELSE 0 END) AS refused
  FROM attempts
  WHERE start_day >= CAST($measured_from AS DATE) AND run_id IN (
    SELECT run_id FROM runs
    WHERE throttled_attempts > 0 AND start_time >= $measured_from AND start_time < $to
  )
  GROUP BY run_id, operation_span_id
), waits AS (
  SELECT run_id, operation_span_id, wanted, refused,
    coalesce(let_in, min(let_in) OVER (
      PARTITION BY run_id ORDER BY wanted DESC, operation_span_id DESC
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), last_sent) AS served
  FROM operations
), apart AS (
  SELECT run_id, wanted, served,
    max(served) OVER (
      PARTITION BY run_id ORDER BY wanted, operation_span_id
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS served_earlier
  FROM waits
  WHERE refused = 1
)
SELECT run_id, sum(greatest(served - greatest(wanted, coalesce(served_earlier, wanted)), 0)) AS wait_us
FROM apart
GROUP BY run_id
