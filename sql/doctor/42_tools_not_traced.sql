-- Models that ask for tools that no span shows.
-- counts: runs
-- costs: 8
-- says: {share} of {whose} runs ask for tools that are not traced
-- mend: Trace tool executions (execute_tool spans, @tool decorators, or the framework's instrumentor):
--   tool time and parallelism are unknown without them.
SELECT service, dialect, n, of FROM found WHERE counted = 'runs' AND reason = 'tools_not_traced'
