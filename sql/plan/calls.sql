-- Per workflow: generation calls, those without a cap on output, and output tokens a call.
SELECT workflow, calls, unset, n, of, sum, p[1] AS p50, p[2] AS p95, p[3] AS p99, CAST(p[4] AS BIGINT) AS max
FROM (
  SELECT workflow, count(*) AS calls, count(CASE WHEN max_output_tokens IS NULL THEN 1 END) AS unset,
    count(output_tokens) AS n, count(*) AS of, sum(output_tokens) AS sum,
    percentiles(CAST(output_tokens AS DOUBLE), [0.5, 0.95, 0.99, 1.0]) AS p
  FROM model_calls
  WHERE workflow IS NOT NULL AND kind = 'model_call' AND start_time >= $from AND start_time < $to
  GROUP BY workflow
)
ORDER BY workflow
