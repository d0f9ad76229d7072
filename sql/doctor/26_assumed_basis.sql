-- Input counts with a cache, of a client that no rule knows.
-- counts: calls
-- costs: 8
-- says: {share} of {whose} calls have an input count of which nothing says whether it holds cached
--   tokens
-- mend: Say it in a dialect file: [[input]] with basis = "inclusive" or "exclusive", a rule's name and
--   the client's scope; check it against one of the provider's own answers.
SELECT service, dialect, n, of FROM found WHERE counted = 'calls' AND reason = 'input_assumed'
