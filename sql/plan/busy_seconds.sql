-- Runs that started in each second of each workflow's busiest hour up to the plan's instant: how unevenly
-- they arrive. Seconds without a start are left out.
WITH hours AS (
  SELECT workflow, date_trunc('hour', start_time) AS hour,
    row_number() OVER (PARTITION BY workflow ORDER BY count(*) DESC, date_trunc('hour', start_time)) AS place
  FROM runs
  WHERE workflow IS NOT NULL AND start_time < $to
  GROUP BY workflow, date_trunc('hour', start_time)
)
SELECT r.workflow, (CAST(r.start_time AS BIGINT) - CAST(h.hour AS BIGINT)) / 1000000 AS second, count(*) AS starts
FROM runs r
JOIN hours h ON h.workflow = r.workflow AND h.hour = date_trunc('hour', r.start_time)
WHERE h.place = 1
GROUP BY r.workflow, (CAST(r.start_time AS BIGINT) - CAST(h.hour AS BIGINT)) / 1000000
ORDER BY r.workflow, second
