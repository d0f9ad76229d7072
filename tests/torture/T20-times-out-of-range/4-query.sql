-- Counted where trust is told.
SELECT CAST(count AS DOUBLE) / of AS share FROM quality WHERE reason = 'quarantined.time_out_of_range'
