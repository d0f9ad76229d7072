//! How many are inside at once: Little's law and the Poisson spread around it.
//!
//! Leaves waiting times to replay. The invariant: slots come from a percentile of the number inside,
//! never from the rate times a percentile of the stay, which buys far too many (PLANNING, section 3).

/// Smallest `k` with `P(X <= k) >= level` for a Poisson of this mean: the slots that hold `level` of
/// the time. 40 in flight on average need 51 at 0.95. Zero for a mean that is not positive.
///
/// Weights run outward from the mode by their exact ratio, so nothing under- or overflows and the
/// same mean gives the same answer on every machine.
#[must_use]
pub fn poisson_quantile(mean: f64, level: f64) -> u64 {
    // Past this the spread is a thousandth of a percent of the mean, and walking it takes minutes.
    const WALKED: f64 = 1e10;
    if mean.is_nan() || mean <= 0.0 {
        return 0;
    }
    if mean > WALKED {
        return (mean + 1.645 * mean.sqrt()).ceil() as u64;
    }
    const NEGLIGIBLE: f64 = 1e-20;
    let mode = mean.floor();
    let (mut below, mut weight, mut k) = (Vec::new(), 1.0, mode);
    while weight > NEGLIGIBLE {
        below.push(weight);
        weight *= k / mean;
        k -= 1.0;
    }
    let (mut above, mut weight, mut k) = (Vec::new(), 1.0, mode);
    while weight > NEGLIGIBLE {
        k += 1.0;
        weight *= mean / k;
        above.push(weight);
    }
    let first = mode as u64 + 1 - below.len() as u64;
    let ascending = below.iter().rev().chain(&above);
    let wanted = level * ascending.clone().sum::<f64>();
    let mut sum = 0.0;
    for (k, weight) in (first..).zip(ascending) {
        sum += weight;
        if sum >= wanted {
            return k;
        }
    }
    mode as u64 + above.len() as u64
}

#[cfg(test)]
mod tests {
    use super::poisson_quantile;

    /// Protects the slots: known quantiles of the Poisson distribution, small to large.
    #[test]
    fn known_quantiles() {
        for (mean, p95) in [
            (0.0, 0),
            (0.05, 0),
            (0.1, 1),
            (1.0, 3),
            (5.0, 9),
            (10.0, 15),
            (40.0, 51),
            (100.0, 117),
            (900.0, 950),
        ] {
            assert_eq!(poisson_quantile(mean, 0.95), p95, "mean {mean}");
        }
        assert_eq!(poisson_quantile(f64::NAN, 0.95), 0);
        assert_eq!(poisson_quantile(1e6, 0.95), 1_001_645);
    }
}
