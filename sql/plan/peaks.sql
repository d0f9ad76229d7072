-- Largest draw in one second, ten seconds, a minute and five minutes of the history.
SELECT account, region, pool, measure,
  max(CASE WHEN window_s = 1 THEN amount END) AS s1, max(CASE WHEN window_s = 10 THEN amount END) AS s10,
  max(CASE WHEN window_s = 60 THEN amount END) AS s60, max(CASE WHEN window_s = 300 THEN amount END) AS s300
FROM draw
WHERE pool IS NOT NULL AND bucket >= $from AND bucket < $to
  AND (measure LIKE 'admission.%' OR measure LIKE 'settlement.%')
GROUP BY account, region, pool, measure
ORDER BY account, region, pool, measure
