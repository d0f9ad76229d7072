-- Zeros where a client did not know: they are null here, and the calls count as calls without usage.
-- counts: spans
-- costs: 4
-- says: {share} of {whose} spans say that a call used no token
-- mend: A call cannot use none: the client writes zero for unknown. Ask streams for their usage, and
--   upgrade the instrumentation.
-- mend traceloop: Old OpenLLMetry ends the span of messages.stream() before the stream: upgrade
--   opentelemetry-instrumentation-anthropic.
SELECT service, dialect, n, of FROM found WHERE counted = 'spans' AND reason = 'zero_usage'
