-- The only run, and the only year.
SELECT count(*) AS runs, min(start_day) AS first, max(start_day) AS last FROM runs
