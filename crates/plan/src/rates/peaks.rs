//! The peak of a coming stretch of time, from the peaks of those before it.
//!
//! A history is cut into stretches alike, such as days, and each is told by its largest window: block
//! maxima, so that what happens inside a stretch needs no law. Logs of peaks are followed by a level that
//! moves by a share of each surprise. Which share is right is not known from a few peaks, so all are
//! used, each for as much as the peaks speak for it; what they leave unexplained says how far off the
//! coming peak may be: a Student-t, with the prior of `effect` where few were seen. Leaves what a peak is
//! made of to replay. The invariants: a closed form, and nothing but the peaks themselves.

use crate::rates::effect::SPREAD;
use crate::rates::student::t_quantile;

/// Shares of a surprise that are tried: from a twentieth to nineteen.
const STEPS: u32 = 20;

/// Peaks that the level begins with: a third of them, four at most.
const FIRST: (usize, usize) = (3, 4);

/// A stretch of next to nothing counts as this share of the mean peak, so that its log is a number.
const IDLE: f64 = 0.05;

/// The peak that the stretch so many stretches ahead stays below with probability `p`, from the peaks
/// before it, earliest first. `None` where none of them is above zero.
///
/// A level that moves by a share `a` of each surprise is, `h` stretches on, uncertain by
/// `1 + (h - 1) a^2` times the variance of a surprise (the local level model; Hyndman and others,
/// Forecasting with Exponential Smoothing, table 6.1). Each share weighs as likely as it makes the peaks,
/// with the variance integrated out: `(v0 s0^2 + squares)^(-v/2)`.
#[must_use]
pub fn coming_peak(past: &[f64], ahead: f64, p: f64) -> Option<f64> {
    let mean = past.iter().sum::<f64>() / past.len() as f64;
    if !(mean.is_finite() && mean > 0.0) {
        return None;
    }
    let logs: Vec<f64> = past.iter().map(|peak| peak.max(mean * IDLE).ln()).collect();
    let seen = u32::try_from(logs.len() - 1).unwrap_or(u32::MAX - SPREAD.0);
    let freedom = SPREAD.0 + seen;
    let believed = f64::from(SPREAD.0) * SPREAD.1.powi(2);
    let followed: Vec<Followed> =
        (1..STEPS).map(|step| follow(&logs, f64::from(step) / f64::from(STEPS))).collect();
    let least = followed.iter().map(|of| of.squares).fold(f64::INFINITY, f64::min);
    let likely =
        |of: &Followed| ((believed + of.squares) / (believed + least)).powf(f64::from(freedom) / -2.0);
    let weights: f64 = followed.iter().map(likely).sum();
    let mean_of = |figure: &dyn Fn(&Followed) -> f64| {
        followed.iter().map(|of| likely(of) * figure(of)).sum::<f64>() / weights
    };
    let level = mean_of(&|of| of.level);
    let between = mean_of(&|of| (of.level - level).powi(2));
    let variance = (believed + mean_of(&|of| of.squares)) / f64::from(freedom);
    let moves = 1.0 + (ahead - 1.0).max(0.0) * mean_of(&|of| of.share.powi(2));
    Some((level + t_quantile(p, freedom) * (variance * moves + between).sqrt()).exp())
}

/// A level that followed.
struct Followed {
    /// Share of each surprise that it moved by.
    share: f64,
    /// Where it stands in the end.
    level: f64,
    /// Sum of squared surprises.
    squares: f64,
}

fn follow(logs: &[f64], share: f64) -> Followed {
    let first = (logs.len() / FIRST.0).clamp(1, FIRST.1);
    let begin = logs.iter().take(first).sum::<f64>() / first.min(logs.len()) as f64;
    let mut followed = Followed { share, level: begin, squares: 0.0 };
    for (nth, log) in logs.iter().enumerate() {
        let surprise = log - followed.level;
        if nth > 0 {
            followed.squares += surprise.powi(2);
        }
        followed.level += share * surprise;
    }
    followed
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: without a surprise the prior alone speaks. Five peaks of 100 have 8 degrees of freedom and
    /// a deviation of sqrt(4 x 0.0625 / 8) = 0.17678; t at P80 of 8 is 0.88889. Of nineteen shares that are
    /// all as likely, squares are 0.325 on average, so 401 stretches on the variance is 131 times as large.
    #[test]
    fn even_peaks_leave_the_prior() -> Result<(), &'static str> {
        let even = coming_peak(&[100.0; 5], 1.0, 0.8).ok_or("no peak")?;
        assert!((even - 100.0 * (0.888_89_f64 * 0.176_777).exp()).abs() < 0.01, "{even}");
        let far = coming_peak(&[100.0; 5], 401.0, 0.8).ok_or("no peak")?;
        assert!(
            (far / 100.0 / (0.888_89_f64 * 0.176_777 * 131.0_f64.sqrt()).exp() - 1.0).abs() < 0.01,
            "{far}"
        );
        assert_eq!(coming_peak(&[100.0; 5], 9.0, 0.5).map(f64::round), Some(100.0));
        Ok(())
    }

    /// A level that moved is followed, one that only jitters is not: the coming peak is near the last
    /// ones in the first case, near the mean in the second.
    #[test]
    fn levels_are_followed_and_noise_is_not() -> Result<(), &'static str> {
        let moved = coming_peak(&[10.0, 10.0, 10.0, 40.0, 40.0, 40.0, 40.0], 1.0, 0.5).ok_or("no peak")?;
        assert!((36.0..41.0).contains(&moved), "{moved}");
        let jitter = [10.0, 40.0, 10.0, 40.0, 10.0, 40.0, 10.0, 40.0];
        let level = coming_peak(&jitter, 1.0, 0.5).ok_or("no peak")?;
        assert!((13.0..27.0).contains(&level), "{level}");
        Ok(())
    }

    /// Scale does not matter, more certainty asks for more, and idle stretches are no reason to fail.
    #[test]
    fn in_any_unit() -> Result<(), &'static str> {
        let peaks = [3.0, 5.0, 0.0, 4.0, 9.0];
        let thousands = peaks.map(|peak| peak * 1000.0);
        let (one, other) = (coming_peak(&peaks, 3.0, 0.8), coming_peak(&thousands, 3.0, 0.8));
        let (one, other) = one.zip(other).ok_or("no peak")?;
        assert!((other / one - 1000.0).abs() < 1e-6);
        assert!(coming_peak(&peaks, 3.0, 0.95) > Some(one));
        assert_eq!(coming_peak(&[0.0; 4], 3.0, 0.8), None);
        assert_eq!(coming_peak(&[], 3.0, 0.8), None);
        Ok(())
    }
}
