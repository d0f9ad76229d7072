-- The engine's own function.
SELECT percentile_cont(0.0) WITHIN GROUP (ORDER BY x DESC) AS a,
  percentile_cont(0.25) WITHIN GROUP (ORDER BY x DESC) AS b,
  percentile_cont(1.0) WITHIN GROUP (ORDER BY x DESC) AS c
FROM (VALUES (1), (2), (3), (4), (5)) AS t (x)
