-- What runs and calls cost is what their attempts do: null where that of any attempt is not known, and the
-- known part of it beside. Nothing costs less than nothing, and nothing is billed above its list price.
WITH costs AS (
  SELECT run_id, count(*) AS attempts, count(cost_usd) AS known, sum(cost_usd) AS cost_usd
  FROM attempts
  GROUP BY run_id
), calls AS (
  SELECT run_id, operation_span_id AS span_id,
    CASE WHEN count(*) = count(cost_usd) THEN sum(cost_usd) END AS cost_usd
  FROM attempts
  GROUP BY run_id, operation_span_id
)
SELECT 'runs' AS table_name, r.run_id AS key, r.cost_usd, c.cost_usd AS of_attempts
FROM runs r
JOIN costs c ON c.run_id = r.run_id
WHERE (r.cost_usd IS DISTINCT FROM CASE WHEN c.known = c.attempts THEN c.cost_usd END)
  OR r.known_cost_usd <> coalesce(c.cost_usd, 0)
UNION ALL
SELECT 'model_calls', m.run_id || '/' || m.span_id, m.cost_usd, c.cost_usd
FROM model_calls m
JOIN calls c ON c.run_id = m.run_id AND c.span_id = m.span_id
WHERE m.cost_usd IS DISTINCT FROM c.cost_usd
UNION ALL
SELECT 'attempts', run_id || '/' || span_id, cost_usd, list_usd
FROM attempts
WHERE cost_usd < 0 OR cost_usd > list_usd OR (cost_usd IS NULL) <> (cost_basis IS NULL)
  OR (NOT billed AND cost_usd <> 0)
