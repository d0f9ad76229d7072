-- Two instrumentations on one client, where nothing proves that their spans are one call.
-- counts: runs
-- costs: 40
-- says: {share} of {whose} runs may count calls twice: {scopes} both record them
-- mend: Turn one of the two off (an instrumentor's uninstrument(),
--   OTEL_PYTHON_DISABLED_INSTRUMENTATIONS, or the framework's own telemetry switch).
WITH doubtful AS (
  SELECT run_id, service FROM runs
  WHERE start_day >= $since AND array_has(quality, 'possible_double_instrumentation')
), recording AS (
  SELECT DISTINCT d.service, s.scope
  FROM doubtful d JOIN spans s ON s.trace_id = d.run_id
  WHERE s.kind IN ('model_call', 'embedding') AND s.scope IS NOT NULL
), named AS (
  SELECT service, string_agg(scope, ' and ' ORDER BY scope) AS scopes FROM recording GROUP BY service
)
SELECT f.service, f.dialect, f.n, f.of, coalesce(r.scopes, 'two instrumentations') AS scopes
FROM found f
LEFT JOIN named r ON r.service IS NOT DISTINCT FROM f.service
WHERE f.counted = 'runs' AND f.reason = 'possible_double_instrumentation'
