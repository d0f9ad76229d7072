-- Spans whose parent was never received.
-- counts: runs
-- costs: 6
-- says: {share} of {whose} runs have spans whose parent was not received
-- mend: Look for a service or a worker in between that does not export, or for context that is lost
--   between threads or queues.
SELECT service, dialect, n, of FROM found WHERE counted = 'runs' AND reason = 'parent_missing'
