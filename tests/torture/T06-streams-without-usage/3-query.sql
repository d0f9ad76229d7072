-- Known and unknown.
SELECT count(*) AS runs, count(input_tokens) AS known, sum(known_input_tokens) AS at_least,
  count(CASE WHEN array_has(quality, 'usage_missing') THEN 1 END) AS missing
FROM runs
