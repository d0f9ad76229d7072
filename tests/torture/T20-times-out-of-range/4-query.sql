-- Counted where trust is told.
SELECT count FROM quality WHERE reason = 'quarantined.time_out_of_range'
