-- What was drawn is what the attempts used: in every window length the sums are the same.
WITH sent AS (
  SELECT coalesce(pool, '') AS pool, count(*) AS requests, sum(input_tokens) AS input_tokens,
    sum(output_tokens) AS output_tokens
  FROM attempts
  WHERE weight = 1
  GROUP BY coalesce(pool, '')
), drawn AS (
  SELECT coalesce(pool, '') AS pool, window_s,
    sum(CASE WHEN measure = 'requests' THEN amount END) AS requests,
    sum(CASE WHEN measure = 'input_tokens' THEN amount END) AS input_tokens,
    sum(CASE WHEN measure = 'output_tokens' THEN amount END) AS output_tokens
  FROM lake.draw
  GROUP BY coalesce(pool, ''), window_s
)
SELECT s.pool, d.window_s, s.requests, d.requests AS drawn, s.input_tokens, d.input_tokens AS drawn_input
FROM sent s
JOIN drawn d ON d.pool = s.pool
WHERE (SELECT max(weight) FROM attempts) = 1
  AND ((s.requests IS DISTINCT FROM d.requests)
    OR coalesce(s.input_tokens, 0) <> coalesce(d.input_tokens, 0)
    OR coalesce(s.output_tokens, 0) <> coalesce(d.output_tokens, 0))
