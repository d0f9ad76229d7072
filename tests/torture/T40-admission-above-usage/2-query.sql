-- What ten calls of one second are charged when they start and when they end.
SELECT account, region, pool, measure, amount
FROM draw
WHERE window_s = 1 AND measure IN ('admission.tokens', 'settlement.tokens', 'requests')
ORDER BY measure
