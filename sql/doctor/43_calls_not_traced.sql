-- Agents whose totals say more than their traced calls.
-- counts: runs
-- costs: 20
-- says: {share} of {whose} runs have calls that are not traced
-- mend: Instrument the client library below the framework, or upgrade its instrumentation: it does not
--   know every API that the agent calls.
SELECT service, dialect, n, of FROM found WHERE counted = 'runs' AND reason = 'calls_not_traced'
