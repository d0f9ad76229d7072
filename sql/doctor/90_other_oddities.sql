-- Every other code, with what it means.
-- counts: spans
-- costs: 1
-- says: {share} of {whose} {counted} are marked {reason}: {description}
-- mend: `plimsoll explain TRACE_ID` shows such a span; `SELECT * FROM quality WHERE reason =
--   '{reason}'` says when it began.
SELECT f.service, f.dialect, f.n, f.of, f.counted, f.reason, coalesce(c.description, 'see its documentation') AS description
FROM found f
LEFT JOIN quality_codes c ON c.code = f.reason
WHERE f.reason IN ('bad_number', 'utf8_replaced', 'truncated', 'bad_parent_id', 'parent_cycle', 'retries_implausible')
  AND f.counted = 'spans' OR starts_with(f.reason, 'quarantined.')
