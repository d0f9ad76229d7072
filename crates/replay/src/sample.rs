//! Exact percentiles of durations.
//!
//! The invariant: the rule is that of SQL's `percentile_cont`, linear between the two nearest ranks,
//! over every value; nothing is sketched. Most waits are nothing, so nothing is only counted.

use serde::Serialize;

use crate::time::Micros;

/// Durations, to be summed up at the end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sample {
    zeros: u64,
    values: Vec<u64>,
}

/// A distribution of durations, in milliseconds; nothing where there was none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Durations {
    /// How many.
    pub n: u64,
    /// Their mean.
    pub mean_ms: Option<f64>,
    /// Their median.
    pub p50_ms: Option<f64>,
    /// Their 95th percentile.
    pub p95_ms: Option<f64>,
    /// The longest.
    pub max_ms: Option<f64>,
}

impl Sample {
    #[inline]
    pub(crate) fn add(&mut self, duration: Micros) {
        if duration.0 == 0 {
            self.zeros += 1;
        } else {
            self.values.push(duration.0);
        }
    }

    pub(crate) fn append(&mut self, other: &Self) {
        self.zeros += other.zeros;
        self.values.extend(&other.values);
    }

    /// Sums up; the order of values is lost.
    pub(crate) fn durations(mut self) -> Durations {
        let n = self.zeros + self.values.len() as u64;
        if n == 0 {
            return Durations::default();
        }
        let sum: u128 = self.values.iter().map(|&value| u128::from(value)).sum();
        let ms = |micros: f64| Some(micros / 1e3);
        Durations {
            n,
            mean_ms: ms(sum as f64 / n as f64),
            p50_ms: ms(self.percentile(n, 50)),
            p95_ms: ms(self.percentile(n, 95)),
            max_ms: ms(self.values.iter().copied().max().unwrap_or(0) as f64),
        }
    }

    /// A percentile of `n` values, which is not nothing.
    fn percentile(&mut self, n: u64, percent: u64) -> f64 {
        // The rank is low + part / 100, in whole numbers.
        let hundredths = u128::from(n - 1) * u128::from(percent);
        let (low, part) = ((hundredths / 100) as u64, (hundredths % 100) as f64 / 100.0);
        let (lower, upper) = self.at_and_after(low);
        if part == 0.0 { lower as f64 } else { lower as f64 + (upper - lower) as f64 * part }
    }

    /// The value of a rank, counted from nothing, and that of the next.
    fn at_and_after(&mut self, rank: u64) -> (u64, u64) {
        let least = |values: &[u64]| values.iter().copied().min().unwrap_or(u64::MAX);
        match rank.checked_sub(self.zeros) {
            None if rank + 1 < self.zeros => (0, 0),
            None => (0, least(&self.values)),
            Some(rank) => {
                let (_, &mut at, after) = self.values.select_nth_unstable(rank as usize);
                (at, least(after))
            }
        }
    }
}

/// How much of `all` lies at or below a percentile, rounded up.
pub(crate) fn percentile_rank(all: u128, percent: u64) -> u128 {
    (all * u128::from(percent)).div_ceil(100)
}

/// A percentile of numbers by the same rule; nothing of none.
pub(crate) fn percentile_of(sorted: &[f64], percent: u64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let rank = last as f64 * percent as f64 / 100.0;
    let low = (rank.floor() as usize).min(last);
    let high = (low + 1).min(last);
    Some(sorted[low] + (sorted[high] - sorted[low]) * (rank - low as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand, the rule of `percentile_cont`: of 0, 0, 10, 20, 40 the median is 10 and the 95th
    /// percentile lies 0.8 of the way from 20 to 40.
    #[test]
    fn percentiles_are_linear_between_ranks() {
        let mut sample = Sample::default();
        for value in [40_000, 0, 10_000, 0, 20_000] {
            sample.add(Micros(value));
        }
        let read = sample.durations();
        assert_eq!(
            (read.n, read.mean_ms, read.p50_ms, read.p95_ms, read.max_ms),
            (5, Some(14.0), Some(10.0), Some(36.0), Some(40.0))
        );
        assert_eq!(Sample::default().durations(), Durations::default());
    }
}
