//! The load-duration curve: for how long demand is above any amount.
//!
//! Windows of demand, each standing for some seconds of the time that is looked at, ascending. Leaves where
//! they come from to `demand` and `measured`. The invariant: sums are of whole numbers, divided once, so what
//! is above a capacity and what is below it add up to all.

use crate::quantity::Quantity;

/// Seconds of a month of 730 hours.
pub(super) const MONTH_S: u64 = 730 * 3600;

/// Demand in windows of one length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Curve {
    /// Length of a window, seconds.
    pub(super) window_s: u32,
    /// Amounts, ascending.
    amounts: Vec<u64>,
    /// From each amount on: seconds, and amount x seconds, summed; one longer than `amounts`.
    seconds: Vec<u128>,
    weighed: Vec<u128>,
}

impl Curve {
    /// Windows as (amount, seconds that it stands for), in any order, beside `idle` seconds without demand.
    pub(crate) fn new(window_s: u32, mut windows: Vec<(u64, u64)>, idle: u64) -> Self {
        if idle > 0 {
            windows.push((0, idle));
        }
        windows.sort_unstable();
        let mut seconds = vec![0u128; windows.len() + 1];
        let mut weighed = vec![0u128; windows.len() + 1];
        for (index, (amount, stands_for)) in windows.iter().enumerate().rev() {
            let stands_for = u128::from(*stands_for);
            seconds[index] = seconds[index + 1] + stands_for;
            weighed[index] = weighed[index + 1] + u128::from(*amount) * stands_for;
        }
        Self { window_s, amounts: windows.into_iter().map(|(amount, _)| amount).collect(), seconds, weighed }
    }

    /// Several curves of one length of window, over all of their time.
    pub(crate) fn joined<'c>(window_s: u32, curves: impl Iterator<Item = &'c Self>) -> Self {
        let windows = curves.flat_map(|curve| {
            let seconds = curve.seconds.windows(2).map(|pair| pair[0] - pair[1]);
            let whole = |seconds| u64::try_from(seconds).unwrap_or(u64::MAX);
            curve.amounts.iter().copied().zip(seconds.map(whole)).collect::<Vec<_>>()
        });
        Self::new(window_s, windows.collect(), 0)
    }

    fn all_seconds(&self) -> u128 {
        self.seconds.first().copied().unwrap_or(0)
    }

    /// Sums of amount x seconds are of windows: over the length of one they are amounts; a month of them.
    fn a_month(&self, weighed: u128) -> Quantity {
        let every = Quantity::ratio(u128::from(self.window_s) * self.all_seconds(), MONTH_S);
        let weighed = Quantity::ratio(weighed, 1).unwrap_or_default();
        every.and_then(|every| weighed.over(&every)).unwrap_or_default()
    }

    /// All demand, a month.
    pub(crate) fn demand(&self) -> Quantity {
        self.a_month(self.weighed.first().copied().unwrap_or(0))
    }

    /// Demand above a capacity of so much a window, a month.
    pub(crate) fn above(&self, capacity: u64) -> Quantity {
        let first = self.amounts.partition_point(|amount| *amount <= capacity);
        let weighed = self.weighed.get(first).copied().unwrap_or(0);
        let below = self.seconds.get(first).copied().unwrap_or(0) * u128::from(capacity);
        self.a_month(weighed - below)
    }

    /// Share of a capacity of so much a window that is used; `None` without a capacity or any time.
    pub(crate) fn used(&self, capacity: u64) -> Option<Quantity> {
        let whole = self.a_month(self.all_seconds() * u128::from(capacity));
        (self.demand() - self.above(capacity)).over(&whole)
    }

    /// The amount that the busiest `part` of `of` parts of the time reaches.
    pub(crate) fn reached(&self, part: u64, of: u64) -> u64 {
        let beyond = self.all_seconds() * u128::from(part) / u128::from(of.max(1));
        // The first index, from the largest amount down, up to which more than that time has passed.
        let index = self.seconds.partition_point(|from_here| *from_here > beyond);
        index.checked_sub(1).and_then(|index| self.amounts.get(index)).copied().unwrap_or(0)
    }

    /// The largest window.
    pub(crate) fn peak(&self) -> u64 {
        self.amounts.last().copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

    use super::*;

    /// Protects the curve against a count by hand: a quarter of the time at 100 a minute, the rest idle.
    #[test]
    fn a_quarter_of_the_time() {
        let curve = Curve::new(60, vec![(100, 60); 25], 75 * 60);
        let month = Quantity::from(MONTH_S / 60);
        assert_eq!(curve.demand(), &month * &Quantity::from(25));
        assert_eq!(curve.above(40), &month * &Quantity::from(15));
        assert_eq!(curve.used(100), Quantity::ratio(1, 4));
        assert_eq!(curve.used(50), Quantity::ratio(1, 4));
        assert_eq!(curve.used(200), Quantity::ratio(1, 8));
        assert_eq!((curve.reached(0, 100), curve.reached(24, 100), curve.reached(25, 100)), (100, 100, 0));
        assert_eq!((curve.peak(), curve.used(0)), (100, None));
        assert_eq!(Curve::new(60, Vec::new(), 0).used(5), None);
    }

    /// Protects weights: a window that stands for twice the time counts twice, whatever its length.
    #[test]
    fn windows_weigh_what_they_stand_for() {
        let twice = Curve::new(5, vec![(10, 20), (40, 10)], 0);
        let each = Curve::new(5, vec![(10, 10), (10, 10), (40, 10)], 0);
        assert_eq!(twice.demand(), each.demand());
        assert_eq!(twice.above(25), each.above(25));
        // 20 a window of 5 s on average, so 4 a second.
        assert_eq!(twice.demand(), Quantity::from(MONTH_S * 4));
        assert_eq!(twice.used(20).unwrap(), Quantity::ratio(2, 3).unwrap());
    }
}
