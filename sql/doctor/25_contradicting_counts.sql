-- Counts that contradict what is known of the client, so that nobody can split the input.
-- counts: spans
-- costs: 10
-- says: {share} of {whose} spans have more cached than input tokens, or counts that do not add up
-- mend: Upgrade the instrumentation; if its input count leaves cached tokens out, say so in a dialect
--   file: [[input]] basis = "exclusive" with its scope.
SELECT service, dialect, n, of FROM found WHERE counted = 'spans' AND reason = 'dialect_mismatch'
