-- A reader is told.
SELECT CAST(count AS DOUBLE) / of AS share FROM quality WHERE reason = 'sampled' AND counted = 'spans'
