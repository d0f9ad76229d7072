-- Runs under a fallback name: the service, or the service and the root span's name.
-- counts: runs
-- costs: 6
-- says: {share} of {whose} runs belong to no named workflow; they stand under {workflow}
-- mend: Set gen_ai.workflow.name (or plimsoll.workflow) on the root span, or name them in
--   plimsoll.toml:\n[[workflow]]\nname = "NAME"\nmatch = { service = "{service}" }
WITH made AS (
  SELECT service, workflow,
    workflow IS NULL OR workflow = service OR starts_with(workflow, service || '/') AS unnamed
  FROM runs WHERE start_day >= $since
), totals AS (
  SELECT service, count(*) AS of FROM made GROUP BY service
)
SELECT m.service, CAST(NULL AS VARCHAR) AS dialect, count(*) AS n, max(t.of) AS of,
  coalesce(min(m.workflow), 'no name') AS workflow
FROM made m JOIN totals t ON t.service IS NOT DISTINCT FROM m.service
WHERE m.unnamed
GROUP BY m.service
