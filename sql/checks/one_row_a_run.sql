-- A run stands once, and so do its operations, attempts and tool executions.
SELECT 'runs' AS table_name, run_id AS key, count(*) AS rows FROM runs GROUP BY run_id HAVING count(*) > 1
UNION ALL
SELECT 'model_calls', run_id || '/' || span_id, count(*) FROM model_calls GROUP BY run_id, span_id HAVING count(*) > 1
UNION ALL
SELECT 'attempts', run_id || '/' || span_id || '/' || CAST(attempt AS VARCHAR), count(*)
FROM attempts GROUP BY run_id, span_id, attempt HAVING count(*) > 1
UNION ALL
SELECT 'tool_calls', run_id || '/' || span_id, count(*) FROM tool_calls GROUP BY run_id, span_id HAVING count(*) > 1
