-- Different spans under one id.
-- counts: runs
-- costs: 12
-- says: {share} of {whose} runs have different spans under one id
-- mend: Two id generators share a seed, or a workflow engine replays spans with their old ids: seed
--   per process, and export once.
SELECT service, dialect, n, of FROM found WHERE counted = 'runs' AND reason = 'span_id_conflict'
