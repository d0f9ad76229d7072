-- Runs of the touched windows that have ended, with their numbers as one struct. Latencies are of runs
-- that ended well; those that failed stand apart under failed.duration_ms.
-- makes: finished_runs
-- keeps: as a view
SELECT run_id, workflow, model_version, prompt_version, weight, start_time, outcome = 'ok' AS ok,
  local_trunc('day', start_time) AS day, local_trunc('month', start_time) AS month,
  named_struct(
    'duration_ms', CASE WHEN outcome = 'ok' THEN duration_ms END,
    'failed.duration_ms', CASE WHEN outcome <> 'ok' THEN duration_ms END,
    'ttft_ms', CASE WHEN outcome = 'ok' THEN ttft_ms END,
    'model_ms', CASE WHEN outcome = 'ok' THEN model_ms END,
    'tool_ms', CASE WHEN outcome = 'ok' THEN tool_ms END,
    'own_ms', CASE WHEN outcome = 'ok' THEN own_ms END,
    'queue_wait_ms', CASE WHEN outcome = 'ok' THEN queue_wait_ms END,
    'model_calls', model_calls,
    'model_attempts', model_attempts,
    'throttled_attempts', throttled_attempts,
    'retries', retries,
    'tool_calls', tool_calls,
    'max_parallel_model_calls', max_parallel_model_calls,
    'max_parallel_tools', max_parallel_tools,
    'input_tokens', input_tokens,
    'input_uncached', input_uncached,
    'cache_read', cache_read,
    'cache_write', cache_write,
    'output_tokens', output_tokens,
    'reasoning_tokens', reasoning_tokens,
    'embedding_calls', embedding_calls,
    'embedding_tokens', embedding_tokens,
    'retrieved_tokens', retrieved_tokens,
    'expansion', expansion,
    'cost_usd', cost_usd
  ) AS numbers
FROM runs
WHERE start_day >= $windows_from_day AND start_day <= $windows_to_day AND outcome NOT IN ('open', 'orphan')
