-- How far to trust the figures: what is odd about each service's calls and runs, as a share, and what each
-- code means. Shares are of all that was seen, over all days.
SELECT q.service, q.counted, q.reason, sum(q.count) AS n,
  round(CAST(sum(q.count) AS DOUBLE) / max(s.n), 4) AS share, max(c.description) AS means
FROM quality q
JOIN quality_codes c ON c.code = q.reason
JOIN (SELECT service, counted, sum(count) AS n FROM quality WHERE reason = 'seen' GROUP BY service, counted) s
  ON s.counted = q.counted AND (s.service IS NOT DISTINCT FROM q.service)
WHERE q.reason <> 'seen' AND q.counted <> 'spans'
GROUP BY q.service, q.counted, q.reason
ORDER BY q.service, share DESC, q.reason
