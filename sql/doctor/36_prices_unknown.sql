-- Calls that told their tokens and have no cost, though the catalog has a row for their pool: it has no price for
-- them on that day, or none for their service tier.
-- counts: calls
-- costs: 3
-- says: {share} of {whose} calls draw on {pool}, for which the catalog has no price
-- mend: Add `prices`, in USD a million tokens, to a row for it in a folder of your own; `plimsoll catalog show
--   {pool}` prints what there is.
WITH calls AS (
  SELECT service, pool, cost_usd IS NULL AND input_tokens IS NOT NULL AND output_tokens IS NOT NULL AS unpriced,
    start_time
  FROM model_calls
  WHERE start_day >= $since
), totals AS (
  SELECT service, count(*) AS of FROM calls GROUP BY service
), named AS (
  SELECT service, pool, count(*) AS n, max(start_time) AS latest
  FROM calls
  WHERE unpriced AND pool IS NOT NULL
  GROUP BY service, pool
)
SELECT n.service, CAST(NULL AS VARCHAR) AS dialect, n.n, t.of, n.pool
FROM named n
JOIN totals t ON t.service IS NOT DISTINCT FROM n.service
WHERE catalog_row(n.pool, n.latest)['key'] IS NOT NULL
