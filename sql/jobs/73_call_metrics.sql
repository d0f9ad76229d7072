-- Metrics of model calls: the unit, and the calls that a value is known of where nothing is missing.
-- makes: call_metrics
-- keeps: as a view
SELECT * FROM (VALUES
  ('duration_ms', 'ms', 'ok'),
  ('ttft_ms', 'ms', 'streamed'),
  ('queue_wait_ms', 'ms', 'all'),
  ('attempts', 'attempts', 'all'),
  ('input_tokens', 'tokens', 'all'),
  ('input_uncached', 'tokens', 'all'),
  ('cache_read', 'tokens', 'all'),
  ('cache_write', 'tokens', 'all'),
  ('output_tokens', 'tokens', 'all'),
  ('reasoning_tokens', 'tokens', 'all'),
  ('max_output_tokens', 'tokens', 'all')
) AS m (metric, unit, calls)
