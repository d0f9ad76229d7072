//! How unevenly runs arrive, measured and made again.
//!
//! Counts of real arrivals spread more than a Poisson process does, at several lengths of time at
//! once. Here the rate is multiplied by independent strengths of mean 1, each constant over its own
//! length: 60 s, 10 s and 1 s. Poisson noise of the counts is not part of them, so at ten times the
//! rate the strengths are the same and the noise is relatively smaller: what people do together they
//! do together at any size.
//!
//! The invariant: the variance of the counts that are made is that of those measured, at each length.
//! A negative binomial by the second would hold it at one second only, and miss the peak minute.

use serde::{Deserialize, Serialize};

/// A strength of the rate, constant over some seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Burst {
    /// How long one strength holds.
    pub seconds: u32,
    /// Variance of the strength, whose mean is 1.
    pub cv2: f64,
}

impl Burst {
    /// The lengths at which bursts are measured, longest first (PLANNING, section 3).
    pub const LENGTHS: [u32; 3] = [60, 10, 1];

    /// The bursts in counts of arrivals per second over a stretch of one rate, such as a busy hour.
    ///
    /// With `u` the variance of counts beyond Poisson's over the squared mean at one length, and `n`
    /// short windows in a long one, `r = (1 + u_short) / (1 + u_long)` tells the second moment `W` of
    /// all strengths up to the short length: averaged over the long window they leave
    /// `1 + (W - 1) / n` there, so `W - 1 = (r - 1) / (1 - r / n)`. It is `n` at most, when all of a
    /// long window's arrivals come in one short one. What is left of `W` after the shorter lengths is
    /// the length's own. Lengths with nothing of their own are left out, and so are those of which less
    /// than two whole windows were counted.
    #[must_use]
    pub fn measure(per_second: &[u64]) -> Vec<Self> {
        Self::measure_within(per_second, per_second.len())
    }

    /// The bursts within stretches of so many seconds, each with a rate of its own: what their rates differ
    /// by is no burst. As [`Self::measure`] for a single stretch.
    #[must_use]
    pub fn measure_within(per_second: &[u64], stretch: usize) -> Vec<Self> {
        let seen = Self::LENGTHS
            .map(|seconds| (seconds, 1.0 + beyond_poisson(per_second, seconds as usize, stretch.max(1))));
        let mut bursts = Vec::new();
        // What shorter lengths leave at the present one.
        let mut left = 1.0;
        for at in (0..seen.len()).rev() {
            let (seconds, moment) = seen[at];
            let longer =
                at.checked_sub(1).map(|longer| seen[longer]).filter(|_| counted(per_second, seen[at - 1].0));
            let (whole, leaves) = match longer {
                Some((long, of_long)) => {
                    let n = f64::from(long / seconds);
                    let r = (moment / of_long).clamp(1.0, n);
                    let whole = (1.0 + (r - 1.0) / (1.0 - r / n)).min(n);
                    (whole, 1.0 + (whole - 1.0) / n)
                }
                None => (moment, 1.0),
            };
            let cv2 = whole / left - 1.0;
            if counted(per_second, seconds) && cv2 > 0.0 {
                bursts.insert(0, Self { seconds, cv2 });
            }
            left = leaves;
        }
        bursts
    }
}

/// Whether at least two whole windows of a length were counted.
fn counted(per_second: &[u64], seconds: u32) -> bool {
    per_second.len() / seconds as usize >= 2
}

/// Variance of counts over windows about the means of their stretches, beyond Poisson's, over the squared
/// mean; nothing where it is less than Poisson's, or was not counted.
fn beyond_poisson(per_second: &[u64], seconds: usize, stretch: usize) -> f64 {
    let (mut deviations, mut free, mut sum, mut n) = (0.0, 0.0, 0.0, 0.0);
    for stretch in per_second.chunks(stretch) {
        let windows: Vec<f64> =
            stretch.chunks_exact(seconds).map(|window| window.iter().sum::<u64>() as f64).collect();
        if windows.is_empty() {
            continue;
        }
        let count = windows.len() as f64;
        let mean = windows.iter().sum::<f64>() / count;
        deviations += windows.iter().map(|window| (window - mean).powi(2)).sum::<f64>();
        free += count - 1.0;
        sum += mean * count;
        n += count;
    }
    if free < 1.0 || sum == 0.0 {
        return 0.0;
    }
    let (mean, variance) = (sum / n, deviations / free);
    ((variance - mean) / (mean * mean)).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One arrival in every second is less than Poisson: no burst. All of a minute's in its first
    /// second: a burst by the second, none by the minute.
    #[test]
    fn even_arrivals_have_no_bursts() {
        assert_eq!(Burst::measure(&[1; 600]), []);
        let clumped: Vec<u64> = (0..600).map(|second| if second % 60 == 0 { 60 } else { 0 }).collect();
        let bursts = Burst::measure(&clumped);
        assert!(bursts.iter().all(|burst| burst.seconds < 60) && !bursts.is_empty());
        assert_eq!(Burst::measure(&[]), []);
    }

    /// A rate that doubles half-way is a burst of the whole, and none of its halves.
    #[test]
    fn a_rate_that_changes_is_no_burst_within_its_stretches() {
        let stepped: Vec<u64> = (0..1_200).map(|second| if second < 600 { 1 } else { 2 }).collect();
        assert!(!Burst::measure(&stepped).is_empty());
        assert_eq!(Burst::measure_within(&stepped, 600), []);
    }
}
