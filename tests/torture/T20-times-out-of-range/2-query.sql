-- Kept aside, as sent.
SELECT DISTINCT reason, trace_id, start_unix_nano FROM quarantine ORDER BY trace_id
