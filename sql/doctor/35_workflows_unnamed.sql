-- Runs under a fallback name: the service, or the service and the root span's name.
-- counts: runs
-- costs: 12
-- says: {share} of {whose} runs belong to no named workflow; they stand under {workflow}
-- mend: Set gen_ai.workflow.name (or plimsoll.workflow) on the root span, or name them in
--   plimsoll.toml:\n[[workflow]]\nname = "NAME"\nmatch = { service = "{service}" }
WITH made AS (
  SELECT run_id, service, workflow,
    workflow IS NULL OR workflow = service OR starts_with(workflow, service || '/') AS like_its_service
  FROM runs WHERE start_day >= $since
), totals AS (
  SELECT service, count(*) AS of FROM made GROUP BY service
), named AS (
  SELECT DISTINCT trace_id FROM spans WHERE received_day >= $received_since AND workflow IS NOT NULL
)
SELECT m.service, CAST(NULL AS VARCHAR) AS dialect, count(*) AS n, max(t.of) AS of,
  coalesce(min(m.workflow), 'no name') AS workflow
FROM made m
JOIN totals t ON t.service IS NOT DISTINCT FROM m.service
LEFT JOIN named n ON n.trace_id = m.run_id
WHERE m.like_its_service AND n.trace_id IS NULL
GROUP BY m.service
