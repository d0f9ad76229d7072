-- What `quality` counted since a day, per service and dialect, beside all that was seen of the service:
-- calls and runs by their start, spans by their receipt. Advice is drawn from it.
-- keeps: found
WITH counted AS (
  SELECT service, dialect, counted, reason, sum(count) AS n, sum(of) AS could
  FROM quality
  WHERE start_day >= CASE WHEN counted = 'spans' THEN $received_since ELSE $since END
  GROUP BY service, dialect, counted, reason
), seen AS (
  SELECT service, counted, sum(n) AS n FROM counted WHERE reason = 'seen' GROUP BY service, counted
)
SELECT c.service, c.dialect, c.counted, c.reason, c.n, coalesce(s.n, c.could) AS of
FROM counted c
LEFT JOIN seen s ON s.counted = c.counted AND (s.service IS NOT DISTINCT FROM c.service)
WHERE c.reason <> 'seen'
