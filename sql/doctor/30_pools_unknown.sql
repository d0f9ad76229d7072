-- Calls whose provider and model are told but whose pool is not known: a deployment's own name, or a
-- model that the catalog lacks.
-- counts: calls
-- costs: 20
-- says: {share} of {whose} calls draw on no known pool: {provider} calls them {model}
-- mend: Name the pool in plimsoll.toml:\n[[deployment]]\nmatch = { provider = "{provider}", model =
--   "{model}" }\npool = "{provider}/PRODUCT/SCOPE/MODEL"
WITH calls AS (
  SELECT service, provider, coalesce(model, response_model) AS model, pool
  FROM model_calls
  WHERE start_day >= $since
), totals AS (
  SELECT service, count(*) AS of FROM calls GROUP BY service
)
SELECT c.service, CAST(NULL AS VARCHAR) AS dialect, count(*) AS n, max(t.of) AS of, c.provider, c.model
FROM calls c JOIN totals t ON t.service IS NOT DISTINCT FROM c.service
WHERE c.pool IS NULL AND c.provider IS NOT NULL AND c.model IS NOT NULL
GROUP BY c.service, c.provider, c.model
