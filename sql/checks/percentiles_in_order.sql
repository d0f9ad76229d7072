-- A percentile lies between its neighbours and has its n; a share lies between 0 and 1. A mean is
-- rounded to the sixth decimal, so it may stand that much above the largest value.
SELECT workflow, metric, n, weight, coverage, p50, p95, p99, max
FROM (
  SELECT workflow, metric, n, weight, coverage, mean, p50, p95, p99, max FROM run_profiles
  UNION ALL
  SELECT workflow, metric, n, weight, coverage, mean, p50, p95, p99, max FROM run_profiles_by_version
  UNION ALL
  SELECT workflow, metric, n, weight, coverage, mean, p50, p95, p99, max FROM call_profiles
  UNION ALL
  SELECT workflow, metric, n, weight, coverage, mean, p50, p95, p99, max FROM call_profiles_by_version
)
WHERE NOT (p50 <= p95 AND p95 <= p99 AND p99 <= max AND mean <= max + 0.000001 AND n > 0 AND weight > 0
  AND coverage > 0 AND coverage <= 1)
