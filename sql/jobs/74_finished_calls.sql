-- Model calls of runs of the touched windows that have ended, with their numbers as one struct. Latencies
-- are of calls that ended well, the time to the first token of those that streamed.
-- makes: finished_calls
-- keeps: as a view
SELECT c.workflow, c.step, coalesce(c.response_model, c.model) AS model, c.prompt_version, c.weight, c.start_time,
  c.status = 'ok' AS ok, c.status = 'ok' AND c.streaming AS streamed,
  local_trunc('day', r.start_time) AS day, local_trunc('month', r.start_time) AS month,
  named_struct(
    'duration_ms', CASE WHEN c.status = 'ok' THEN c.duration_ms END,
    'ttft_ms', CASE WHEN c.status = 'ok' AND c.streaming THEN c.ttft_ms END,
    'queue_wait_ms', c.queue_wait_ms,
    'attempts', c.attempts,
    'input_tokens', c.input_tokens,
    'input_uncached', c.input_uncached,
    'cache_read', c.cache_read,
    'cache_write', c.cache_write,
    'output_tokens', c.output_tokens,
    'reasoning_tokens', c.reasoning_tokens,
    'max_output_tokens', c.max_output_tokens
  ) AS numbers
FROM model_calls c
JOIN (
  SELECT run_id, start_time FROM runs
  WHERE start_day >= $windows_from_day AND start_day <= $windows_to_day AND outcome NOT IN ('open', 'orphan')
) r ON r.run_id = c.run_id
WHERE c.start_day >= $windows_from_day AND c.start_day <= $windows_to_day
