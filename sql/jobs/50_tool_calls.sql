-- One row per tool execution, from the assembled runs.
-- makes: tool_calls
-- key: run_id, span_id
-- partition: start_day
-- replaces: touched runs
SELECT
  t['run_id'] AS run_id, t['span_id'] AS span_id, t['workflow'] AS workflow, t['step_index'] AS step_index,
  t['tool'] AS tool, t['start_time'] AS start_time, t['duration_ms'] AS duration_ms,
  t['status'] AS status, t['error_type'] AS error_type, t['retries'] AS retries,
  t['concurrency_at_dispatch'] AS concurrency_at_dispatch, t['payload_bytes'] AS payload_bytes,
  t['idempotency_replayed'] AS idempotency_replayed, t['weight'] AS weight, CAST(t['run_start_time'] AS DATE) AS start_day
FROM (SELECT unnest(tool_calls) AS t FROM assembled)
