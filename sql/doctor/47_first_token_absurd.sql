-- Times to the first token that cannot be.
-- counts: spans
-- costs: 1
-- says: {share} of {whose} spans tell a time to first token that cannot be
-- mend: Some clients write the whole duration, or a time in another unit, under that name: upgrade the
--   instrumentation. The values are dropped.
SELECT service, dialect, n, of FROM found WHERE counted = 'spans' AND reason = 'bad_ttft'
