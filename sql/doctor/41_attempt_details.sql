-- Resends that were only counted.
-- counts: runs
-- costs: 4
-- says: {share} of {whose} runs resent requests without telling what was answered
-- mend: Instrument the HTTP client too: whether it was a 429 or a broken connection decides if a limit
--   was met.
SELECT service, dialect, n, of FROM found WHERE counted = 'runs' AND reason = 'attempt_detail_missing'
