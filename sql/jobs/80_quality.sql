-- How far the data can be trusted: what is missing, estimated, conflicting, truncated, assumed or
-- sampled, counted per service and dialect beside what could have been; under `seen` stands all there was.
-- Spans are counted as received, by the day of receipt, a resend again; calls and runs once, by the day
-- of the run's start. What was counted of spans that have expired stands as it was counted.
-- makes: quality
-- key: start_day, service, dialect, counted, reason
-- partition: start_day
-- replaces: touched days
WITH seen AS (
  SELECT received_day AS start_day, service, dialect, 'seen' AS reason, count(*) AS count
  FROM spans
  WHERE received_day IN (SELECT start_day FROM touched_days)
  GROUP BY received_day, service, dialect
), span_codes AS (
  SELECT start_day, service, dialect, sum(CASE WHEN reason = 'seen' THEN count END) AS total,
    array_agg(named_struct('reason', reason, 'count', count)) AS codes
  FROM (
    SELECT * FROM seen
    UNION ALL
    SELECT start_day, service, dialect, reason, count(*) AS count
    FROM (
      SELECT received_day AS start_day, service, dialect, unnest(quality) AS reason FROM spans
      WHERE received_day IN (SELECT start_day FROM touched_days) AND cardinality(quality) > 0
    )
    GROUP BY start_day, service, dialect, reason
  )
  GROUP BY start_day, service, dialect
), aside_codes AS (
  -- A share of all that came from the service, whatever the dialect.
  SELECT start_day, service, CAST(NULL AS VARCHAR) AS dialect, sum(count) AS total,
    array_agg(named_struct('reason', reason, 'count', count)) FILTER (WHERE reason <> 'seen') AS codes
  FROM (
    SELECT start_day, service, reason, count FROM seen
    UNION ALL
    SELECT received_day AS start_day, service, 'quarantined.' || reason AS reason, count(*) AS count
    FROM quarantine
    WHERE received_day IN (SELECT start_day FROM touched_days)
    GROUP BY received_day, service, reason
  )
  GROUP BY start_day, service
), late AS (
  -- Of runs that are not made anew, since spans of theirs have expired.
  SELECT s.received_day AS start_day, s.service, s.dialect, count(*) AS count
  FROM spans s
  JOIN runs r
    ON r.run_id = coalesce(
      nullif(run_key(s.service, s.name, s.scope, s.session_id, s.run_key, s.link_trace_id, s.attributes), ''),
      s.trace_id)
  WHERE s.received_day IN (SELECT start_day FROM touched_days) AND $spans_kept_from > DATE '1970-01-01'
    AND r.first_received < $spans_kept_from_time AND s.received_at > r.last_received
  GROUP BY s.received_day, s.service, s.dialect
), late_codes AS (
  SELECT l.start_day, l.service, l.dialect, l.count, s.count AS total
  FROM late l
  JOIN seen s ON s.start_day = l.start_day AND (s.service IS NOT DISTINCT FROM l.service)
    AND (s.dialect IS NOT DISTINCT FROM l.dialect)
), run_codes AS (
  SELECT start_day, service, CAST(NULL AS VARCHAR) AS dialect, sum(CASE WHEN reason = 'seen' THEN count END) AS total,
    array_agg(named_struct('reason', reason, 'count', count)) AS codes
  FROM (
    SELECT start_day, service, reason, count(*) AS count
    FROM (
      SELECT start_day, service, 'seen' AS reason FROM runs
      WHERE start_day IN (SELECT start_day FROM touched_days)
      UNION ALL
      SELECT start_day, service, unnest(quality) AS reason FROM runs
      WHERE start_day IN (SELECT start_day FROM touched_days)
      UNION ALL
      SELECT start_day, service, outcome AS reason FROM runs
      WHERE start_day IN (SELECT start_day FROM touched_days) AND outcome IN ('open', 'orphan')
    )
    GROUP BY start_day, service, reason
  )
  GROUP BY start_day, service
), calls AS (
  SELECT *, kind = 'model_call' AS generates, status = 'ok' AS answered,
    status = 'ok' AND usage_source = 'missing' AS silent
  FROM model_calls
  WHERE start_day IN (SELECT start_day FROM touched_days)
), call_counts AS (
  SELECT start_day, service, dialect, count(*) AS calls,
    count(CASE WHEN answered THEN 1 END) AS answered,
    count(CASE WHEN silent AND streaming THEN 1 END) AS usage_missing_stream,
    count(CASE WHEN silent AND streaming IS NOT TRUE THEN 1 END) AS usage_missing,
    count(CASE WHEN usage_source = 'estimated' THEN 1 END) AS usage_estimated,
    count(CASE WHEN usage_source = 'aggregate' THEN 1 END) AS usage_aggregate,
    count(CASE WHEN generates AND input_tokens IS NOT NULL THEN 1 END) AS with_input,
    count(CASE WHEN generates AND input_tokens IS NOT NULL AND cache_read IS NULL THEN 1 END) AS cache_detail_missing,
    count(CASE WHEN input_tokens IS NOT NULL AND starts_with(input_basis, 'assumed') THEN 1 END) AS input_assumed,
    count(CASE WHEN generates AND output_tokens IS NOT NULL THEN 1 END) AS with_output,
    count(CASE WHEN generates AND output_tokens IS NOT NULL AND reasoning_tokens IS NULL THEN 1 END) AS reasoning_missing,
    count(CASE WHEN finish_reason IN ('length', 'max_tokens') THEN 1 END) AS output_truncated,
    count(CASE WHEN generates THEN 1 END) AS generations,
    count(CASE WHEN generates AND max_output_tokens IS NULL THEN 1 END) AS cap_unknown,
    count(CASE WHEN answered AND streaming THEN 1 END) AS streamed,
    count(CASE WHEN answered AND streaming AND ttft_ms IS NULL THEN 1 END) AS ttft_missing,
    count(CASE WHEN provider IS NULL THEN 1 END) AS provider_unknown,
    count(CASE WHEN model IS NULL AND response_model IS NULL THEN 1 END) AS model_unknown,
    count(CASE WHEN pool IS NULL THEN 1 END) AS pool_unknown,
    count(CASE WHEN attempts IS NULL THEN 1 END) AS attempts_unknown
  FROM calls
  GROUP BY start_day, service, dialect
), call_codes AS (
  SELECT start_day, service, dialect, unnest([
    named_struct('reason', 'seen', 'count', calls, 'of', calls),
    named_struct('reason', 'usage_missing_stream', 'count', usage_missing_stream, 'of', answered),
    named_struct('reason', 'usage_missing', 'count', usage_missing, 'of', answered),
    named_struct('reason', 'usage_estimated', 'count', usage_estimated, 'of', answered),
    named_struct('reason', 'usage_aggregate', 'count', usage_aggregate, 'of', answered),
    named_struct('reason', 'cache_detail_missing', 'count', cache_detail_missing, 'of', with_input),
    named_struct('reason', 'input_assumed', 'count', input_assumed, 'of', with_input),
    named_struct('reason', 'reasoning_missing', 'count', reasoning_missing, 'of', with_output),
    named_struct('reason', 'output_truncated', 'count', output_truncated, 'of', generations),
    named_struct('reason', 'cap_unknown', 'count', cap_unknown, 'of', generations),
    named_struct('reason', 'ttft_missing', 'count', ttft_missing, 'of', streamed),
    named_struct('reason', 'provider_unknown', 'count', provider_unknown, 'of', calls),
    named_struct('reason', 'model_unknown', 'count', model_unknown, 'of', calls),
    named_struct('reason', 'pool_unknown', 'count', pool_unknown, 'of', calls),
    named_struct('reason', 'attempts_unknown', 'count', attempts_unknown, 'of', calls)]) AS c
  FROM call_counts
)
SELECT service, dialect, c['reason'] AS reason, 'spans' AS counted, c['count'] AS count, total AS of, start_day
FROM (SELECT start_day, service, dialect, total, unnest(codes) AS c FROM span_codes)
UNION ALL
SELECT service, dialect, c['reason'] AS reason, 'spans' AS counted, c['count'] AS count, total AS of, start_day
FROM (SELECT start_day, service, dialect, total, unnest(codes) AS c FROM aside_codes WHERE codes IS NOT NULL)
UNION ALL
SELECT service, dialect, c['reason'] AS reason, 'runs' AS counted, c['count'] AS count, total AS of, start_day
FROM (SELECT start_day, service, dialect, total, unnest(codes) AS c FROM run_codes)
UNION ALL
SELECT service, dialect, c['reason'] AS reason, 'calls' AS counted, c['count'] AS count, c['of'] AS of, start_day
FROM call_codes
WHERE c['count'] > 0
UNION ALL
SELECT service, dialect, 'run_expired' AS reason, 'spans' AS counted, count, total AS of, start_day
FROM late_codes
UNION ALL
SELECT service, dialect, reason, counted, count, of, start_day
FROM quality
WHERE counted = 'spans' AND start_day < $spans_kept_from AND start_day IN (SELECT start_day FROM touched_days)
