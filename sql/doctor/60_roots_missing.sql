-- Runs whose root never came.
-- counts: runs
-- costs: 24
-- says: {share} of {whose} runs never got their root span
-- mend: Look for a service in front that is not exporting, a sampler that decides per span, or a
--   process that ends before its exporter flushes (call force_flush or shutdown).
SELECT service, dialect, n, of FROM found WHERE counted = 'runs' AND reason = 'orphan'
