-- Output without its reasoning part.
-- counts: calls
-- costs: 1
-- says: {share} of {whose} calls do not tell how much of their output was reasoning
-- mend: Set OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental where the instrumentation knows
--   it, or upgrade it. Totals are right without it.
SELECT service, dialect, n, of FROM found WHERE counted = 'calls' AND reason = 'reasoning_missing'
