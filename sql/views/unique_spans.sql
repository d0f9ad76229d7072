-- Spans, each once: of a resend the later end counts, then the larger token fields; a log record that bears a span's
-- id stands only where that span never came.
SELECT * EXCLUDE (place)
FROM (
  SELECT *, row_number() OVER (
    PARTITION BY trace_id, span_id
    ORDER BY coalesce(signal, ''), start_unix_nano + coalesce(duration_ms, 0) * 1000000 DESC,
      coalesce(input_tokens, 0) + coalesce(output_tokens, 0) DESC, received_at) AS place
  FROM spans
)
WHERE place = 1
