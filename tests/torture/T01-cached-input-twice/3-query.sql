-- Who contradicts himself.
SELECT run_id, array_has(quality, 'dialect_mismatch') AS mismatch FROM runs ORDER BY start_time
