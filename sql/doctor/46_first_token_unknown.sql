-- Streams of which nothing tells when they began to answer.
-- counts: calls
-- costs: 1
-- says: {share} of {whose} calls stream without telling their time to first token
-- mend: Set OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental where the instrumentation knows
--   it, or upgrade it.
SELECT service, dialect, n, of FROM found WHERE counted = 'calls' AND reason = 'ttft_missing'
