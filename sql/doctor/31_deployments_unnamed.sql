-- Deployments on Azure under names of their own, so that their pool carries that name and no model's
-- rules apply.
-- counts: calls
-- costs: 8
-- says: {share} of {whose} calls go to the deployment {model}, which answers as {response_model}
-- mend: Say which pool it draws on, in plimsoll.toml:\n[[deployment]]\nmatch = { provider =
--   "{provider}", model = "{model}" }\npool = "{provider}/PRODUCT/SCOPE/MODEL"
WITH calls AS (
  SELECT service, dialect, provider, model, response_model, pool FROM model_calls WHERE start_day >= $since
), totals AS (
  SELECT service, count(*) AS of FROM calls GROUP BY service
)
SELECT c.service, c.dialect, count(*) AS n, max(t.of) AS of, c.provider, c.model, min(c.response_model) AS response_model
FROM calls c JOIN totals t ON t.service IS NOT DISTINCT FROM c.service
WHERE starts_with(c.provider, 'azure.') AND NOT starts_with(c.response_model, c.model) AND ends_with(c.pool, '/' || c.model)
GROUP BY c.service, c.dialect, c.provider, c.model
