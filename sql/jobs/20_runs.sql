-- One row per run, from the assembled runs. A run without its root is open until the acceptance
-- window has passed by the watermark, which is the latest receipt, not the wall clock; then orphan.
-- Cost is null until the catalog has prices.
-- makes: runs
-- key: run_id
-- partition: start_day
-- replaces: touched runs
SELECT
  run['run_id'] AS run_id,
  run['trace_ids'] AS trace_ids,
  run['workflow'] AS workflow,
  run['service'] AS service,
  run['tenant'] AS tenant,
  run['request_class'] AS request_class,
  run['tier'] AS tier,
  run['start_time'] AS start_time,
  run['end_time'] AS end_time,
  run['duration_ms'] AS duration_ms,
  CASE
    WHEN run['outcome'] = 'open' AND run['last_received'] < $watermark - $acceptance_window THEN 'orphan'
    ELSE run['outcome']
  END AS outcome,
  run['business_outcome'] AS business_outcome,
  run['model_calls'] AS model_calls,
  run['model_attempts'] AS model_attempts,
  run['throttled_attempts'] AS throttled_attempts,
  run['retries'] AS retries,
  run['retries_after_timeout'] AS retries_after_timeout,
  run['tool_calls'] AS tool_calls,
  run['max_parallel_model_calls'] AS max_parallel_model_calls,
  run['max_parallel_tools'] AS max_parallel_tools,
  run['input_tokens'] AS input_tokens,
  run['input_uncached'] AS input_uncached,
  run['cache_read'] AS cache_read,
  run['cache_write'] AS cache_write,
  run['output_tokens'] AS output_tokens,
  run['reasoning_tokens'] AS reasoning_tokens,
  run['embedding_calls'] AS embedding_calls,
  run['embedding_tokens'] AS embedding_tokens,
  run['known_input_tokens'] AS known_input_tokens,
  run['known_output_tokens'] AS known_output_tokens,
  run['retrieved_tokens'] AS retrieved_tokens,
  run['ttft_ms'] AS ttft_ms,
  run['model_ms'] AS model_ms,
  run['tool_ms'] AS tool_ms,
  run['queue_wait_ms'] AS queue_wait_ms,
  run['own_ms'] AS own_ms,
  run['critical_model_ms'] AS critical_model_ms,
  run['critical_tool_ms'] AS critical_tool_ms,
  run['stall_ms'] AS stall_ms,
  run['input_growth'] AS input_growth,
  run['expansion'] AS expansion,
  CAST(NULL AS DECIMAL(38, 12)) AS cost_usd,
  run['usage_coverage'] AS usage_coverage,
  run['complete'] AS complete,
  run['degraded'] AS degraded,
  run['parked'] AS parked,
  run['resumed_from_step'] AS resumed_from_step,
  run['model_version'] AS model_version,
  run['prompt_version'] AS prompt_version,
  run['weight'] AS weight,
  run['spans'] AS spans,
  run['quality'] AS quality,
  run['first_received'] AS first_received,
  run['last_received'] AS last_received,
  CAST(run['start_time'] AS DATE) AS start_day
FROM (SELECT unnest(runs) AS run FROM assembled)
