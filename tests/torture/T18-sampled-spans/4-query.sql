-- A reader is told.
SELECT counted, count, of FROM quality WHERE reason = 'sampled'
