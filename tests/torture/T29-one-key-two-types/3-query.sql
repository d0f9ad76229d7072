-- A count as number and as text is one count; what is none is null and said.
SELECT retries, attributes['a'] AS a, attributes['b'] AS b, coalesce(array_has(quality, 'bad_number'), false) AS bad
FROM unique_spans WHERE kind = 'tool_call' ORDER BY start_time
