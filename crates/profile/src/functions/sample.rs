//! What one group of values is, as a set: exact percentiles and exact sums, each value with a weight.
//!
//! A value of weight w stands for w values: a span kept with probability 1/4 stands for four. Percentiles
//! follow the rule of SQL's `percentile_cont`, linear interpolation between closest ranks: with total
//! weight W, level p is the mean of the values over the unit of weight that starts at rank (W - 1) p. For
//! weights of 1 that is the interpolation between the two neighbours, and whole weights are the same as
//! repetition. Sums are of whole millionths. Nulls and NaN are not values, and a weight that is not a
//! positive number counts as 1.
//!
//! Invariant: every answer depends on the multiset of values and weights only, not on their order.

/// Millionths in a unit: what sums are exact to.
const MICRO: f64 = 1e6;

/// Values and weights; no weights are held while all are 1.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct Sample {
    values: Vec<f64>,
    weights: Vec<f64>,
}

/// Sums over a sample, exact to the millionth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sums {
    /// Weight of all values.
    pub(super) weight: f64,
    /// Sum of value times weight.
    pub(super) total: f64,
    /// Sum of value squared times weight.
    pub(super) squares: f64,
}

impl Sample {
    /// Adds a value.
    pub(super) fn push(&mut self, value: f64, weight: f64) {
        if value.is_nan() {
            return;
        }
        let weight = if weight > 0.0 && weight.is_finite() { weight } else { 1.0 };
        if weight != 1.0 && self.weights.is_empty() {
            self.weights.resize(self.values.len(), 1.0);
        }
        if weight != 1.0 || !self.weights.is_empty() {
            self.weights.push(weight);
        }
        self.values.push(value);
    }

    /// Adds values; `weights` is empty where all are 1.
    pub(super) fn extend(&mut self, values: &[f64], weights: &[f64]) {
        if weights.is_empty() && self.weights.is_empty() {
            self.values.extend_from_slice(values);
            return;
        }
        for (at, &value) in values.iter().enumerate() {
            self.push(value, weights.get(at).copied().unwrap_or(1.0));
        }
    }

    /// How many values there are.
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    /// The values, in no order.
    pub(super) fn values(&self) -> &[f64] {
        &self.values
    }

    /// Their weights; empty where all are 1.
    pub(super) fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Weight, sum and sum of squares.
    pub(super) fn sums(&self) -> Sums {
        let (mut weight, mut total, mut squares) = (0_i128, 0_i128, 0_i128);
        for (at, &value) in self.values.iter().enumerate() {
            let times = self.weights.get(at).copied().unwrap_or(1.0);
            weight = weight.saturating_add(micros(times));
            total = total.saturating_add(micros(value * times));
            squares = squares.saturating_add(micros(value * value * times));
        }
        let units = |micros: i128| micros as f64 / MICRO;
        Sums { weight: units(weight), total: units(total), squares: units(squares) }
    }

    /// The values at some levels, which lie between 0 and 1; none where there are no values. Leaves the
    /// sample in another order.
    pub(super) fn percentiles(&mut self, levels: &[f64]) -> Option<Vec<f64>> {
        if self.values.is_empty() {
            return None;
        }
        let mut ascending: Vec<usize> = (0..levels.len()).collect();
        ascending.sort_unstable_by(|a, b| levels[*a].total_cmp(&levels[*b]));
        let ordered: Vec<f64> = ascending.iter().map(|at| levels[*at]).collect();
        let values = if self.weights.is_empty() {
            selected(&mut self.values, &ordered)
        } else {
            self.weighted(&ordered)
        };
        let mut found = vec![0.0; levels.len()];
        for (at, value) in ascending.into_iter().zip(values) {
            found[at] = value;
        }
        Some(found)
    }

    /// Percentiles at ascending levels, of values that weigh differently.
    fn weighted(&self, levels: &[f64]) -> Vec<f64> {
        let mut ordered: Vec<(f64, f64)> =
            self.values.iter().copied().zip(self.weights.iter().copied()).collect();
        // By value, then by weight: the order of equal values must not show in the running sum.
        ordered.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let mut total = 0.0;
        let ends: Vec<f64> = ordered
            .iter()
            .map(|(_, weight)| {
                total += weight;
                total
            })
            .collect();
        let mut least = f64::NEG_INFINITY;
        levels
            .iter()
            .map(|level| {
                // Rounding must not put a level below one that comes before it.
                least = over_unit(&ordered, &ends, (total - 1.0).max(0.0) * level).max(least);
                least
            })
            .collect()
    }
}

/// Mean of the ascending values over the unit of weight that starts at `rank`; `ends` are where the weight
/// of each value ends.
fn over_unit(ordered: &[(f64, f64)], ends: &[f64], rank: f64) -> f64 {
    let mut at = ends.partition_point(|end| *end <= rank).min(ordered.len() - 1);
    let mut mean = ordered[at].0;
    while at + 1 < ordered.len() && ends[at] < rank + 1.0 {
        // Of the unit, 1 + rank - end lies above this value.
        mean += (ordered[at + 1].0 - ordered[at].0) * (rank - (ends[at] - 1.0));
        at += 1;
    }
    mean.min(ordered[at].0)
}

/// Percentiles at ascending levels of values of weight 1, by partial ordering: what lies below one level is
/// not looked at for the next.
fn selected(values: &mut [f64], levels: &[f64]) -> Vec<f64> {
    let last = values.len() - 1;
    let mut from = 0;
    levels
        .iter()
        .map(|level| {
            let rank = last as f64 * level;
            let below = (rank.floor() as usize).min(last);
            let part = rank - rank.floor();
            let (_, low, above) = values[from..].select_nth_unstable_by(below - from, f64::total_cmp);
            from = below;
            match above.iter().copied().min_by(f64::total_cmp) {
                // A constant stays itself: low + 0 * part. Rounding must not lead past the neighbour.
                Some(high) if part > 0.0 => (*low + (high - *low) * part).min(high),
                _ => *low,
            }
        })
        .collect()
}

/// Whole millionths, halves away from zero.
fn micros(value: f64) -> i128 {
    (value * MICRO).round() as i128
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sample(values: &[(f64, f64)]) -> Sample {
        let mut sample = Sample::default();
        for &(value, weight) in values {
            sample.push(value, weight);
        }
        sample
    }

    fn at(values: &[(f64, f64)], level: f64) -> Option<f64> {
        sample(values).percentiles(&[level]).map(|found| found[0])
    }

    fn plain(values: &[f64]) -> Vec<(f64, f64)> {
        values.iter().map(|value| (*value, 1.0)).collect()
    }

    /// The rule as it is written down: between the neighbours of rank (n - 1) p in sorted order.
    fn by_the_book(values: &[f64], level: f64) -> f64 {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let rank = (sorted.len() - 1) as f64 * level;
        let (low, high) = (sorted[rank.floor() as usize], sorted[rank.ceil() as usize]);
        low + (high - low) * (rank - rank.floor())
    }

    /// T11: ten values with known linear-interpolation answers.
    #[test]
    fn ten_values() {
        let values = plain(&[-85.0, -72.0, -56.0, -48.0, -43.0, -25.0, -12.0, -5.0, 45.0, 83.0]);
        assert_eq!(at(&values, 0.5), Some(-34.0));
        assert!((at(&values, 0.95).unwrap_or_default() - 65.9).abs() < 1e-12);
    }

    /// The case in which the engine's own function is off in the sixth digit.
    #[test]
    fn interpolation_weight_is_not_cut() {
        let values = plain(&[1.0, 2.0, 4.0, 7.0]);
        assert!((at(&values, 0.95).unwrap_or_default() - 6.55).abs() < 1e-15);
    }

    /// T12: a constant is its own percentile, to the last bit.
    #[test]
    fn constant() {
        for weight in [1.0, 4.0, 2.5] {
            let values = [(0.1, weight); 1000];
            assert_eq!(at(&values, 0.5), Some(0.1));
            assert_eq!(at(&values, 0.95), Some(0.1));
        }
    }

    /// No values, no percentile.
    #[test]
    fn nothing() {
        assert_eq!(at(&[], 0.5), None);
        assert_eq!(at(&[(f64::NAN, 1.0)], 0.5), None);
    }

    /// T13: a value counts as often as it weighs.
    #[test]
    fn weight_counts() {
        assert_eq!(at(&[(1.0, 1.0), (10.0, 9.0)], 0.5), Some(10.0));
        assert_eq!(at(&[(1.0, 9.0), (10.0, 1.0)], 0.5), Some(1.0));
    }

    /// A weight that says nothing is a weight of 1, not a value lost.
    #[test]
    fn odd_weights() {
        for weight in [0.0, -3.0, f64::NAN, f64::INFINITY] {
            assert_eq!(at(&[(1.0, weight), (3.0, 1.0)], 0.5), Some(2.0));
        }
    }

    /// Means and spread are weighted as percentiles are: as if each value stood there w times.
    #[test]
    fn sums_are_weighted() {
        let weighted = sample(&[(1.0, 1.0), (10.0, 3.0)]).sums();
        assert_eq!(weighted, sample(&plain(&[1.0, 10.0, 10.0, 10.0])).sums());
        assert_eq!((weighted.weight, weighted.total, weighted.squares), (4.0, 31.0, 301.0));
    }

    const LEVELS: [f64; 5] = [0.95, 0.0, 0.5, 1.0, 0.99];

    proptest! {
        /// With weights of 1 the answer is the textbook's, byte for byte, in whichever order levels are asked.
        #[test]
        fn plain_percentiles(values in prop::collection::vec(-1e9_f64..1e9, 1..80)) {
            let found = sample(&plain(&values)).percentiles(&LEVELS).unwrap_or_default();
            for (level, found) in LEVELS.iter().zip(found) {
                prop_assert_eq!(found.to_bits(), by_the_book(&values, *level).to_bits());
            }
        }

        /// A whole weight is repetition, byte for byte.
        #[test]
        fn repetition(values in prop::collection::vec((-1000_i32..1000, 1_u8..6), 1..40)) {
            let weighted: Vec<(f64, f64)> =
                values.iter().map(|&(value, weight)| (f64::from(value) / 7.0, f64::from(weight))).collect();
            let repeated: Vec<f64> = weighted
                .iter()
                .flat_map(|&(value, weight)| std::iter::repeat_n(value, weight as usize))
                .collect();
            let found = sample(&weighted).percentiles(&LEVELS).unwrap_or_default();
            for (level, found) in LEVELS.iter().zip(found) {
                prop_assert_eq!(found.to_bits(), by_the_book(&repeated, *level).to_bits());
            }
        }

        /// Whatever the weights, percentiles are in order, within the values, and the same in any order.
        #[test]
        fn in_order(values in prop::collection::vec((-1e6_f64..1e6, 0.1_f64..50.0), 1..40)) {
            let found = sample(&values).percentiles(&[0.0, 0.5, 0.95, 0.99, 1.0]).unwrap_or_default();
            let least = values.iter().map(|v| v.0).fold(f64::INFINITY, f64::min);
            let most = values.iter().map(|v| v.0).fold(f64::NEG_INFINITY, f64::max);
            prop_assert!(found.is_sorted() && least <= found[0] && found[4] <= most, "{:?}", found);
            let backwards: Vec<_> = values.iter().rev().copied().collect();
            let again = sample(&backwards).percentiles(&[0.0, 0.5, 0.95, 0.99, 1.0]).unwrap_or_default();
            prop_assert_eq!(found, again);
            prop_assert_eq!(sample(&values).sums(), sample(&backwards).sums());
        }
    }
}
