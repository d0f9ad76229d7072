-- Spans that start after they were received: the sender's clock is ahead.
-- counts: spans
-- costs: 6
-- says: {share} of {whose} spans start after they were received, by up to {minutes} minutes
-- mend: Set the sender's clock by NTP: bursts land in the wrong minute otherwise, and month-ends in
--   the wrong month.
SELECT service, CAST(NULL AS VARCHAR) AS dialect,
  count(CASE WHEN start_time > received_at + INTERVAL '1 minute' THEN 1 END) AS n, count(*) AS of,
  max(CAST(start_time AS BIGINT) - CAST(received_at AS BIGINT)) / 60000000 AS minutes
FROM spans
WHERE received_day >= $received_since
GROUP BY service
HAVING count(CASE WHEN start_time > received_at + INTERVAL '1 minute' THEN 1 END) > 0
