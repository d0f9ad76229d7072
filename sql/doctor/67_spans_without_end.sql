-- Spans that were sent before they ended.
-- counts: spans
-- costs: 4
-- says: {share} of {whose} spans have no end
-- mend: End spans in a finally block, and shut the tracer provider down before the process ends.
SELECT service, dialect, n, of FROM found WHERE counted = 'spans' AND reason = 'no_end'
