-- The attempts of the assembled runs, with what they cost by the catalog's prices of their day. Prices are list
-- prices, in whole picodollars a token; a catalog with other prices makes everything anew.
-- makes: priced
-- key: run_id, span_id, attempt
-- keeps: for the round
WITH attempted AS (
  SELECT unnest(attempts) AS a FROM assembled
), metered AS (
  SELECT a, meter(a['pool'], a['start_time'], a['service_tier'], a['throttled'], a['billed'],
    a['input_tokens'], a['input_uncached'], a['cache_read'], a['cache_write'], a['cache_write_1h'],
    coalesce(a['output_tokens'], CASE WHEN a['kind'] <> 'model_call' THEN 0 END), a['reasoning_tokens'],
    a['audio_tokens'], a['max_output_tokens']) AS m
  FROM attempted
)
SELECT a, m['cost_usd'] AS cost_usd, m['list_usd'] AS list_usd,
  CASE
    WHEN m['cost_usd'] IS NULL THEN NULL
    WHEN NOT a['billed'] THEN 'unbilled'
    WHEN m['cost_usd'] IS DISTINCT FROM m['list_usd'] THEN 'units'
    WHEN a['input_uncached'] IS NULL THEN 'cache_not_told'
    ELSE 'list'
  END AS cost_basis
FROM metered
