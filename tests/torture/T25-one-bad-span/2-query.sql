-- Two of three.
SELECT run_id, outcome FROM runs ORDER BY run_id
