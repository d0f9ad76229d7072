-- Calls of which nothing tells who served them.
-- counts: calls
-- costs: 16
-- says: {share} of {whose} calls do not tell their provider
-- mend: Let the instrumentation set gen_ai.provider.name or server.address; for a gateway or a host of
--   your own add a [[place]] to a dialect file, with the host and the provider.
SELECT service, dialect, n, of FROM found WHERE counted = 'calls' AND reason = 'provider_unknown'
