-- Workflows with too few runs for a P95.
-- counts: runs
-- costs: 1
-- says: {workflow} of {service} ran fewer than 20 times, which is too few for a P95
-- mend: Collect for longer, or plan it by its maximum and a margin.
SELECT service, CAST(NULL AS VARCHAR) AS dialect, count(*) AS n, count(*) AS of, workflow
FROM runs
WHERE start_day >= $since AND outcome NOT IN ('open', 'orphan') AND workflow IS NOT NULL
GROUP BY service, workflow
HAVING count(*) < 20
