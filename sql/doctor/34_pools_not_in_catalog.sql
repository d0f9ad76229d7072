-- Calls whose pool is told but of which the catalog has no row: a new model, or a name of one's own. They are
-- counted plainly, every token once, and have no price.
-- counts: calls
-- costs: 12
-- says: {share} of {whose} calls draw on {pool}, which the catalog does not know
-- mend: If it is a pool of the catalog under another name (the nearest is {nearest}), say so in
--   plimsoll.toml:\n[[deployment]]\nmatch = { model = "{model}" }\npool = "{nearest}"\nElse add a row for it to a
--   folder of your own: `plimsoll catalog check` says what it needs.
WITH calls AS (
  SELECT service, pool, coalesce(model, response_model) AS model, start_time
  FROM model_calls
  WHERE start_day >= $since
), totals AS (
  SELECT service, count(*) AS of FROM calls GROUP BY service
), named AS (
  SELECT service, pool, model, count(*) AS n, max(start_time) AS latest
  FROM calls
  WHERE pool IS NOT NULL
  GROUP BY service, pool, model
), looked_up AS (
  SELECT *, catalog_row(pool, latest) AS found FROM named
)
SELECT l.service, CAST(NULL AS VARCHAR) AS dialect, l.n, t.of, l.pool, l.model,
  coalesce(l.found['nearest'], 'PROVIDER/PRODUCT/SCOPE/MODEL') AS nearest
FROM looked_up l
JOIN totals t ON t.service IS NOT DISTINCT FROM l.service
WHERE l.found['key'] IS NULL
