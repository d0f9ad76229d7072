-- Said where trust is told.
SELECT service, reason, counted, sum(count) AS count, sum(of) AS of
FROM quality WHERE reason = 'usage_missing_stream' GROUP BY service, reason, counted
