-- Input without its cached part: cost and cache-aware limits cannot be told from it.
-- counts: calls
-- costs: 4
-- says: {share} of {whose} calls do not tell how much of their input came from the provider's cache
-- mend: Set OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental where the instrumentation knows
--   it, or upgrade it.
-- mend traceloop: Upgrade OpenLLMetry to 0.40 or newer: older ones leave cached tokens out.
SELECT service, dialect, n, of FROM found WHERE counted = 'calls' AND reason = 'cache_detail_missing'
