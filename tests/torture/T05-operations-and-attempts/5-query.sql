-- The requests, in order.
SELECT attempt, http_status, throttled, billed, input_tokens FROM attempts ORDER BY attempt
