-- The runs that new spans touch: runs, model calls, attempts and tool calls as lists, which the next
-- jobs unfold. From `spans`, given their names by the match rules. A row is a group of traces that
-- share runs: mostly one trace, which is one run. Which span belongs to which run, which counts, and
-- for what, is decided in the crate `assembly`.
-- makes: assembled
-- keeps: for the round
SELECT a['runs'] AS runs, a['model_calls'] AS model_calls, a['attempts'] AS attempts,
  a['tool_calls'] AS tool_calls
FROM (
  SELECT group_id, assemble(named_struct(
    'trace_id', trace_id,
    'workflow', workflow, 'workflow_by_rule', named['workflow'], 'account', named['account'],
    'region', named['region'], 'pool', named['pool'],
    'span_id', span_id, 'parent_span_id', parent_span_id, 'kind', kind, 'name', name,
    'service', service, 'start_unix_nano', start_unix_nano, 'duration_ms', duration_ms,
    'status', status, 'error_type', error_type, 'http_status', http_status, 'provider', provider,
    'endpoint', endpoint, 'model', model, 'response_model', response_model,
    'service_tier', service_tier, 'operation', operation, 'step', step, 'tenant', tenant, 'request_class', request_class,
    'tier', tier, 'session_id', session_id, 'run_key', run, 'response_id', response_id, 'scope', scope,
    'scope_version', scope_version, 'dialect', dialect,
    'input_tokens', input_tokens, 'input_uncached', input_uncached, 'cache_read', cache_read,
    'cache_write', cache_write, 'cache_write_1h', cache_write_1h, 'audio_tokens', audio_tokens,
    'output_tokens', output_tokens,
    'reasoning_tokens', reasoning_tokens, 'retrieved_tokens', retrieved_tokens,
    'history_tokens', history_tokens, 'tool_result_tokens', tool_result_tokens,
    'max_output_tokens', max_output_tokens, 'input_basis', input_basis, 'ttft_ms', ttft_ms,
    'queue_wait_ms', queue_wait_ms, 'stall_ms', stall_ms, 'streaming', streaming,
    'attempt', attempt, 'finish_reason', finish_reason, 'tool', tool, 'tool_call_id', tool_call_id,
    'concurrency_at_dispatch', concurrency_at_dispatch, 'retries', retries,
    'payload_bytes', payload_bytes, 'idempotency_replayed', idempotency_replayed,
    'degraded', degraded, 'outcome', outcome, 'parked', parked, 'resumed_from_step', resumed_from_step, 'prompt_version', prompt_version,
    'limit_requests', limit_requests, 'remaining_requests', remaining_requests,
    'limit_tokens', limit_tokens, 'remaining_tokens', remaining_tokens,
    'limit_output_tokens', limit_output_tokens, 'remaining_output_tokens', remaining_output_tokens,
    'retry_after_ms', retry_after_ms, 'weight', weight, 'quality', quality, 'signal', signal,
    'received_at', received_at
  )) AS a
  FROM (
    SELECT s.*, t.group_id, match_rules(service, name, workflow, step, provider, model, response_model,
      endpoint, region, scope, tenant, request_class, account, service_tier, attributes) AS named,
      run_key(service, name, scope, session_id, s.run_key, link_trace_id, attributes) AS run
    FROM spans s
    JOIN touched_traces t ON t.trace_id = s.trace_id
    WHERE s.received_day >= $spans_from_day
      AND s.start_time >= $spans_from_time AND s.start_time <= $spans_to_time
  )
  GROUP BY group_id
)
