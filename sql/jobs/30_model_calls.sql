-- One row per operation, embeddings and reranking too, from the assembled runs. An operation costs what its
-- attempts do.
-- makes: model_calls
-- key: run_id, span_id
-- partition: start_day
-- replaces: touched runs
WITH costs AS (
  SELECT a['run_id'] AS run_id, a['operation_span_id'] AS span_id,
    CASE WHEN count(*) = count(cost_usd) THEN sum(cost_usd) END AS cost_usd
  FROM priced
  GROUP BY a['run_id'], a['operation_span_id']
)
SELECT
  c['run_id'] AS run_id, c['span_id'] AS span_id, c['workflow'] AS workflow, c['service'] AS service, c['dialect'] AS dialect,
  c['scope'] AS scope, c['scope_version'] AS scope_version, c['step'] AS step,
  c['step_index'] AS step_index, c['account'] AS account, c['region'] AS region, c['pool'] AS pool,
  c['provider'] AS provider, c['endpoint'] AS endpoint, c['model'] AS model,
  c['response_model'] AS response_model, c['operation'] AS operation, c['kind'] AS kind,
  c['start_time'] AS start_time, c['duration_ms'] AS duration_ms, c['ttft_ms'] AS ttft_ms,
  c['queue_wait_ms'] AS queue_wait_ms, c['attempts'] AS attempts, c['status'] AS status,
  c['http_status'] AS http_status, c['error_type'] AS error_type,
  c['finish_reason'] AS finish_reason, c['streaming'] AS streaming,
  c['stall_ms'] AS stall_ms, c['output_tokens_per_s'] AS output_tokens_per_s,
  c['input_tokens'] AS input_tokens, c['input_uncached'] AS input_uncached,
  c['cache_read'] AS cache_read, c['cache_write'] AS cache_write,
  c['output_tokens'] AS output_tokens, c['reasoning_tokens'] AS reasoning_tokens,
  c['retrieved_tokens'] AS retrieved_tokens, c['history_tokens'] AS history_tokens,
  c['tool_result_tokens'] AS tool_result_tokens, c['max_output_tokens'] AS max_output_tokens,
  CASE WHEN p.run_id IS NULL THEN 0 ELSE p.cost_usd END AS cost_usd,
  c['prompt_version'] AS prompt_version, c['usage_source'] AS usage_source,
  c['input_basis'] AS input_basis, c['weight'] AS weight, CAST(c['run_start_time'] AS DATE) AS start_day
FROM (SELECT unnest(model_calls) AS c FROM assembled)
LEFT JOIN costs p ON p.run_id = c['run_id'] AND p.span_id = c['span_id']
