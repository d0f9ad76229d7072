-- Telemetry of which only a part was kept.
-- counts: spans
-- costs: 1
-- says: {share} of {whose} spans are sampled
-- mend: Volumes are scaled by the sampling threshold and percentiles weighted; keep all traces of
--   agents if you can, since a P95 of few runs is a guess. Sampling that leaves no threshold in the
--   trace state cannot be seen at all.
SELECT service, dialect, n, of FROM found WHERE counted = 'spans' AND reason = 'sampled'
