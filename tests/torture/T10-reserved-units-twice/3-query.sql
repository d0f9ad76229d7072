-- What the run adds to the bill is what units did not cover.
SELECT cost_usd, known_cost_usd, cost_coverage FROM runs
