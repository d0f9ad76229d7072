-- Who was refused, when: attempts and refused ones per workflow and day.
SELECT start_day, workflow, count(*) AS attempts, count(CASE WHEN throttled THEN 1 END) AS refused
FROM attempts
GROUP BY start_day, workflow
HAVING count(CASE WHEN throttled THEN 1 END) > 0
ORDER BY start_day, workflow
