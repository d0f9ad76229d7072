-- Counted where trust is told.
SELECT counted, count FROM quality WHERE reason = 'negative_duration' AND counted = 'spans'
