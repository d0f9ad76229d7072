-- Kept aside, as sent.
SELECT reason, start_unix_nano FROM quarantine ORDER BY trace_id
