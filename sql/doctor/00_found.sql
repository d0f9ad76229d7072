-- What `quality` counted since a day, per service and dialect, beside all that was seen there: calls and
-- runs by their start, spans by their receipt. Advice is drawn from it.
-- keeps: found
WITH counted AS (
  SELECT service, dialect, counted, reason, sum(count) AS n, sum(of) AS could
  FROM quality
  WHERE start_day >= CASE WHEN counted = 'spans' THEN $received_since ELSE $since END
  GROUP BY service, dialect, counted, reason
)
SELECT c.service, c.dialect, c.counted, c.reason, c.n, greatest(coalesce(s.n, c.could), c.n) AS of
FROM counted c
LEFT JOIN counted s ON s.reason = 'seen' AND s.counted = c.counted
  AND (s.service IS NOT DISTINCT FROM c.service) AND (s.dialect IS NOT DISTINCT FROM c.dialect)
WHERE c.reason <> 'seen'
