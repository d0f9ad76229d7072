-- Several at once, and the documented rule on an even number of values.
SELECT percentiles(x, [0.0, 0.5, 1.0]) AS p
FROM (VALUES (11000), (3100), (2900), (2800), (2600), (2500)) AS t (x)
