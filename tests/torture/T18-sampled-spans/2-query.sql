-- Volume by weight.
SELECT count(*) AS rows, sum(weight) AS runs FROM runs
