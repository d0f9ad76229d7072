-- The values of the public report.
SELECT percentiles(x, [0.5, 0.95]) AS p
FROM (VALUES (-85), (-72), (-56), (-48), (-43), (-25), (-12), (-5), (45), (83)) AS t (x)
