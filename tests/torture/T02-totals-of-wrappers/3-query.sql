-- Which spans were billed.
SELECT run_id, span_id FROM attempts WHERE billed AND run_id < '00000000000000000000000000000024'
ORDER BY run_id, span_id
