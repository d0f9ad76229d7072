-- Calls without max_tokens: what a provider reserves for them at admission cannot be told.
-- counts: calls
-- costs: 1
-- says: {share} of {whose} calls tell no max_tokens
-- mend: Set max_tokens, and let the instrumentation send it (gen_ai.request.max_tokens): providers
--   that reserve at admission take the model's maximum where it is unset.
SELECT service, dialect, n, of FROM found WHERE counted = 'calls' AND reason = 'cap_unknown'
