-- The ten busiest minutes of every pool, in what its provider counts at settlement.
SELECT pool, bucket, amount
FROM (
  SELECT pool, bucket, amount, row_number() OVER (PARTITION BY pool ORDER BY amount DESC) AS place
  FROM draw
  WHERE window_s = 60 AND measure = 'settlement.input_tokens'
)
WHERE place <= 10
ORDER BY pool, amount DESC
