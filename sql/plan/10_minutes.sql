-- What each pool's attempts drew per minute, metered by the catalog: the base of several figures below.
-- keeps: minutes
SELECT account, region, pool, bucket AS minute, measure, amount
FROM draw
WHERE window_s = 60 AND pool IS NOT NULL
  AND (measure = 'throttled' OR measure LIKE 'admission.%' OR measure LIKE 'settlement.%')
