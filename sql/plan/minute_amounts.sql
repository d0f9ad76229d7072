-- Every busy minute of the lake for pools with reserved units, per measure, ascending.
SELECT account, region, pool, measure, array_agg(amount ORDER BY amount) AS amounts
FROM minutes
WHERE minute < $to AND pool LIKE '%/provisioned/%' AND measure LIKE 'settlement.%'
GROUP BY account, region, pool, measure
ORDER BY account, region, pool, measure
