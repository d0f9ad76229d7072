-- A percentile lies between its neighbours and has its n; a share lies between 0 and 1. A mean is
-- rounded to the sixth decimal, so it may stand that much above the largest value.
SELECT workflow, metric, n, coverage, p50, p95, p99, max
FROM run_profiles
WHERE NOT (p50 <= p95 AND p95 <= p99 AND p99 <= max AND mean <= max + 0.000001 AND n > 0 AND coverage > 0 AND coverage <= 1)
UNION ALL
SELECT workflow, metric, n, coverage, p50, p95, p99, max
FROM call_profiles
WHERE NOT (p50 <= p95 AND p95 <= p99 AND p99 <= max AND mean <= max + 0.000001 AND n > 0 AND coverage > 0 AND coverage <= 1)
