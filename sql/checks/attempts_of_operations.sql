-- Every attempt belongs to an operation of its run.
SELECT a.run_id, a.span_id, a.operation_span_id
FROM attempts a
LEFT JOIN model_calls c ON c.run_id = a.run_id AND c.span_id = a.operation_span_id
WHERE c.run_id IS NULL
