-- Calls of a framework that never reached the client library below it.
-- counts: runs
-- costs: 8
-- says: {share} of {whose} runs have calls that were taken for answers of a framework's cache
-- mend: Let the framework mark what its cache answered (cache_hit = true on the span); if there is no
--   cache, those calls are not instrumented below the framework.
SELECT service, dialect, n, of FROM found WHERE counted = 'runs' AND reason = 'cache_assumed'
