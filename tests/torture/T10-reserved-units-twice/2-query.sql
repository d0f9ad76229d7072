-- The month: 1,000 USD were paid for units. Their price and the worth of the calls that they cover are not added up.
SELECT 1000 + sum(cost_usd) AS billed, sum(CASE WHEN cost_basis = 'units' THEN list_usd END) AS covered,
  1000 - sum(CASE WHEN cost_basis = 'units' THEN list_usd END) AS unused,
  sum(CASE WHEN cost_basis <> 'units' THEN cost_usd END) AS on_demand, sum(list_usd) AS list_value
FROM attempts
