//! What was drawn in the window that ends now.
//!
//! The invariant: draws are kept exactly, in order of time, for as long as they count and no longer;
//! a return is taken from the draw that it belongs to.

use std::collections::VecDeque;

use crate::limit::Window;
use crate::time::Micros;

#[derive(Debug, Clone)]
pub(crate) struct Sliding {
    pub(super) most: u64,
    length: u64,
    /// When, and how much; one entry for all draws of an instant.
    draws: VecDeque<(u64, u64)>,
    used: u64,
    pub(super) peak: u64,
}

impl Sliding {
    pub(super) fn new(window: Window, most: u64) -> Self {
        let length = Micros::from(window).0.max(1);
        Self { most, length, draws: VecDeque::new(), used: 0, peak: 0 }
    }

    #[inline]
    fn roll(&mut self, now: Micros) {
        while let Some(&(then, amount)) = self.draws.front()
            && then.saturating_add(self.length) <= now.0
        {
            self.used -= amount;
            self.draws.pop_front();
        }
    }

    #[inline]
    pub(super) fn fits(&mut self, now: Micros, amount: u64) -> bool {
        self.roll(now);
        amount <= self.most.saturating_sub(self.used)
    }

    #[inline]
    pub(super) fn charge(&mut self, now: Micros, amount: u64) {
        self.roll(now);
        let amount = amount.min(u64::MAX - self.used);
        match self.draws.back_mut() {
            Some((then, drawn)) if *then == now.0 => *drawn += amount,
            _ => self.draws.push_back((now.0, amount)),
        }
        self.used += amount;
        self.peak = self.peak.max(self.used);
    }

    #[inline]
    pub(super) fn settle(&mut self, then: Micros, now: Micros, reserved: u64, settled: u64) {
        self.roll(now);
        if settled > reserved {
            self.charge(now, settled - reserved);
        } else if let Some(at) = self.find(then.0) {
            let back = (reserved - settled).min(self.draws[at].1);
            self.draws[at].1 -= back;
            self.used -= back;
        }
    }

    /// The entry of an instant, where it still counts. Draws are spread about evenly over time, so a
    /// guess in proportion is near it, and a few steps of doubling length around the guess bracket it.
    fn find(&self, then: u64) -> Option<usize> {
        let (first, last) = (self.draws.front()?.0, self.draws.back()?.0);
        if then < first || then > last {
            return None;
        }
        let end = self.draws.len() - 1;
        let part = (then - first) as f64 / (last - first).max(1) as f64;
        let guess = ((part * end as f64) as usize).min(end);
        let (mut low, mut high, mut step) = (guess, guess, 1);
        while self.draws[low].0 > then {
            (high, low, step) = (low, low.saturating_sub(step), step * 2);
        }
        while self.draws[high].0 < then {
            (low, high, step) = (high, (high + step).min(end), step * 2);
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if self.draws[middle].0 < then { low = middle + 1 } else { high = middle }
        }
        (self.draws[low].0 == then).then_some(low)
    }

    pub(super) fn free(&mut self, now: Micros) -> u64 {
        self.roll(now);
        self.most.saturating_sub(self.used)
    }

    pub(super) fn ready(&mut self, now: Micros, amount: u64) -> Option<Micros> {
        self.roll(now);
        let mut excess = self.used.saturating_sub(self.most.checked_sub(amount)?);
        for &(then, drawn) in &self.draws {
            excess = excess.saturating_sub(drawn);
            if excess == 0 {
                return Some(Micros(then.saturating_add(self.length)));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// T39: 100 every 30 s; every half-open minute holds 200, since no draw renews an older one.
    #[test]
    fn t39_a_draw_leaves_after_one_window() {
        let mut bucket = Sliding::new(Window(60), u64::MAX);
        for draw in 0..21 {
            bucket.charge(Micros::seconds(30 * draw), 100);
        }
        assert_eq!(bucket.peak, 200);
        assert_eq!(bucket.draws.len(), 2);
    }

    /// A draw is found among evenly and unevenly spread ones alike, and one that is not there is not.
    #[test]
    fn draws_are_found_by_their_instant() {
        for spread in [
            |nth: u64| nth * 1_000,
            |nth: u64| nth * nth * nth,
            |nth: u64| u64::from(nth > 90) * 5_000_000 + nth,
        ] {
            let mut bucket = Sliding::new(Window(60), u64::MAX);
            let times: Vec<u64> = (0..100).map(|nth| 3 * spread(nth)).collect();
            for &time in &times {
                bucket.charge(Micros(time), 1);
            }
            for time in times {
                assert_eq!(bucket.find(time).map(|at| bucket.draws[at].0), Some(time));
                assert_eq!(bucket.find(time + 1), None);
            }
        }
    }

    /// What a call returns leaves the entry it stood in; later it returns nothing.
    #[test]
    fn a_return_belongs_to_its_draw() {
        let mut bucket = Sliding::new(Window(60), 100);
        bucket.charge(Micros::seconds(1), 40);
        bucket.charge(Micros::seconds(20), 60);
        assert_eq!(bucket.ready(Micros::seconds(20), 41), Some(Micros::seconds(80)));
        bucket.settle(Micros::seconds(20), Micros::seconds(30), 60, 10);
        assert_eq!(bucket.free(Micros::seconds(30)), 50);
        bucket.settle(Micros::seconds(1), Micros::seconds(61), 40, 0);
        assert_eq!(bucket.free(Micros::seconds(61)), 90);
        assert_eq!(bucket.ready(Micros::seconds(61), 101), None);
    }
}
