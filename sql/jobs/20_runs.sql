-- One row per run, from the assembled runs. A run without its root is open until the acceptance
-- window has passed by the watermark, which is the latest receipt, not the wall clock; then orphan.
-- A run costs what its attempts do; one whose tokens are not known, for want of any attempt, has no known cost.
-- makes: runs
-- key: run_id
-- partition: start_day
-- replaces: touched runs
WITH costs AS (
  SELECT a['run_id'] AS run_id,
    CASE WHEN count(*) = count(cost_usd) THEN sum(cost_usd) END AS cost_usd,
    coalesce(sum(cost_usd), 0) AS known_cost_usd,
    CAST(count(CASE WHEN a['billed'] THEN cost_usd END) AS DOUBLE)
      / nullif(count(CASE WHEN a['billed'] THEN 1 END), 0) AS cost_coverage
  FROM priced
  GROUP BY a['run_id']
)
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
  CASE WHEN c.run_id IS NOT NULL THEN c.cost_usd WHEN run['input_tokens'] IS NOT NULL THEN 0 END AS cost_usd,
  coalesce(c.known_cost_usd, 0) AS known_cost_usd,
  c.cost_coverage AS cost_coverage,
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
LEFT JOIN costs c ON c.run_id = run['run_id']
