-- Agents that tell a total while none of their calls is traced.
-- counts: runs
-- costs: 20
-- says: {share} of {whose} runs know only their agents' totals
-- mend: Instrument the client library below the framework, so that each call is a span: without them
--   there are no calls per run, no attempts and no per-minute draw.
SELECT service, dialect, n, of FROM found WHERE counted = 'runs' AND reason = 'usage_aggregate'
