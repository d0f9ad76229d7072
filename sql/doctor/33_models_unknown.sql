-- Calls of which nothing tells the model.
-- counts: calls
-- costs: 16
-- says: {share} of {whose} calls do not tell their model
-- mend: Let the instrumentation set gen_ai.request.model; failed calls often lack it, so look at those
--   first.
SELECT service, dialect, n, of FROM found WHERE counted = 'calls' AND reason = 'model_unknown'
