-- Workflows of the whole lake, with their finished runs in the history by outcome and the tier that
-- the telemetry told most often.
SELECT w.workflow, t.tier, o.outcome, o.runs
FROM (SELECT DISTINCT workflow FROM runs WHERE workflow IS NOT NULL AND outcome <> 'open') w
LEFT JOIN (
  SELECT workflow, tier
  FROM (
    SELECT workflow, tier, row_number() OVER (PARTITION BY workflow ORDER BY count(*) DESC, tier) AS place
    FROM runs
    WHERE tier IS NOT NULL
    GROUP BY workflow, tier
  )
  WHERE place = 1
) t ON t.workflow = w.workflow
LEFT JOIN (
  SELECT workflow, outcome, count(*) AS runs
  FROM runs
  WHERE start_time >= $from AND start_time < $to AND outcome <> 'open'
  GROUP BY workflow, outcome
) o ON o.workflow = w.workflow
ORDER BY w.workflow, o.outcome
