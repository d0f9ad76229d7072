-- Counts that the client estimated itself; they stay out of totals.
-- counts: calls
-- costs: 18
-- says: {share} of {whose} calls carry counts that the client estimated
-- mend: Ask the provider for the counts: stream_options.include_usage. Estimates have been off by a
--   factor of ten, so they are not used.
SELECT service, dialect, n, of FROM found WHERE counted = 'calls' AND reason = 'usage_estimated'
