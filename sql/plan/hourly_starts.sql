-- Runs started per hour, by weight, over everything that the lake holds up to the plan's instant.
SELECT workflow, date_trunc('hour', start_time) AS hour, CAST(round(sum(weight)) AS BIGINT) AS starts
FROM runs
WHERE workflow IS NOT NULL AND start_time < $to
GROUP BY workflow, date_trunc('hour', start_time)
ORDER BY workflow, hour
