-- The same call by call, side by side, and what it costs.
SELECT admission_tokens, settlement_tokens, cost_usd, cost_basis, count(*) AS n
FROM attempts_metered
GROUP BY admission_tokens, settlement_tokens, cost_usd, cost_basis
