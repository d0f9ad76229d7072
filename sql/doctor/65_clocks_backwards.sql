-- Spans that end before they start.
-- counts: spans
-- costs: 6
-- says: {share} of {whose} spans end before they start
-- mend: Let the SDK take both times from one monotonic clock, and keep hosts in step by NTP. The
--   durations are null.
SELECT service, dialect, n, of FROM found WHERE counted = 'spans' AND reason = 'negative_duration'
