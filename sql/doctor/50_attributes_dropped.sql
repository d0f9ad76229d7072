-- Attributes that an SDK's cap left off: with long chats usage is often among them.
-- counts: spans
-- costs: 8
-- says: {share} of {whose} spans lost attributes on the way
-- mend: Raise the SDK's cap (OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT, 128 by default) or stop sending prompts
--   as attributes (OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=false,
--   TRACELOOP_TRACE_CONTENT=false, OPENINFERENCE_HIDE_INPUTS=true).
SELECT service, dialect, n, of FROM found WHERE counted = 'spans' AND reason = 'attributes_dropped'
