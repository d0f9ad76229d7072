-- One answer's id on several calls that lie apart: a replay, or a cache that copies the id.
-- counts: runs
-- costs: 10
-- says: {share} of {whose} runs show one answer on several calls
-- mend: Find out who replays them: a workflow engine that re-runs a step, or a cache in between. Both
--   are counted.
SELECT service, dialect, n, of FROM found WHERE counted = 'runs' AND reason = 'response_id_repeated'
