-- Outputs that ended at their cap: the P95 of output is then the cap.
-- counts: calls
-- costs: 1
-- says: {share} of {whose} calls ended at their output cap
-- mend: Raise max_tokens, or read the output's P95 as a lower bound.
SELECT service, dialect, n, of FROM found WHERE counted = 'calls' AND reason = 'output_truncated'
