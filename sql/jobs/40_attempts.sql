-- One row per request on the wire, from the assembled runs, priced: a 429 and its retry are two.
-- makes: attempts
-- key: run_id, span_id, attempt
-- partition: start_day
-- replaces: touched runs
SELECT
  a['run_id'] AS run_id, a['span_id'] AS span_id, a['attempt'] AS attempt,
  a['operation_span_id'] AS operation_span_id, a['workflow'] AS workflow, a['tier'] AS tier,
  a['account'] AS account, a['region'] AS region, a['pool'] AS pool, a['service_tier'] AS service_tier, a['kind'] AS kind,
  a['start_time'] AS start_time, a['duration_ms'] AS duration_ms, a['http_status'] AS http_status,
  a['error_type'] AS error_type, a['layer'] AS layer, a['after'] AS after,
  a['unchanged'] AS unchanged, a['step'] AS step, a['throttled'] AS throttled, a['billed'] AS billed,
  a['weight'] AS weight, a['input_tokens'] AS input_tokens, a['input_uncached'] AS input_uncached,
  a['cache_read'] AS cache_read, a['cache_write'] AS cache_write,
  a['cache_write_1h'] AS cache_write_1h, a['audio_tokens'] AS audio_tokens,
  a['output_tokens'] AS output_tokens, a['reasoning_tokens'] AS reasoning_tokens,
  a['max_output_tokens'] AS max_output_tokens,
  cost_usd, list_usd, cost_basis, a['limit_requests'] AS limit_requests,
  a['remaining_requests'] AS remaining_requests, a['limit_tokens'] AS limit_tokens,
  a['remaining_tokens'] AS remaining_tokens, a['limit_output_tokens'] AS limit_output_tokens,
  a['remaining_output_tokens'] AS remaining_output_tokens, a['retry_after_ms'] AS retry_after_ms,
  CAST(a['run_start_time'] AS DATE) AS start_day
FROM priced
