-- Counted where trust is told.
SELECT service, count FROM quality WHERE reason = 'negative_duration' AND counted = 'runs'
