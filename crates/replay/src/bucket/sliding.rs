//! What was drawn in the window that ends now.
//!
//! The invariant: draws are kept exactly, in order of time, for as long as they count; a return is taken
//! from the draw that it belongs to. One that no longer counts is forgotten no sooner than an answer could
//! depend on it, or its room is needed: many at once, and none while there is plenty.

use std::collections::VecDeque;

use crate::limit::Window;
use crate::time::Micros;

#[derive(Debug, Clone)]
pub(crate) struct Sliding {
    pub(super) most: u64,
    length: u64,
    /// When, and how much; one entry for all draws of an instant.
    draws: VecDeque<(u64, u64)>,
    /// How many have left, which makes a ticket a place.
    left: u32,
    /// All that is in `draws`, what no longer counts included.
    used: u64,
    pub(super) peak: u64,
}

impl Sliding {
    pub(super) fn new(window: Window, most: u64) -> Self {
        let length = Micros::from(window).0.max(1);
        Self { most, length, draws: VecDeque::new(), left: 0, used: 0, peak: 0 }
    }

    /// Forgets what no longer counts.
    fn roll(&mut self, now: Micros) {
        while let Some(&(then, amount)) = self.draws.front()
            && then.saturating_add(self.length) <= now.0
        {
            self.used -= amount;
            self.draws.pop_front();
            self.left = self.left.wrapping_add(1);
        }
    }

    #[inline]
    pub(super) fn fits(&mut self, now: Micros, amount: u64) -> bool {
        amount <= self.most.saturating_sub(self.used) || amount <= self.free(now)
    }

    #[inline]
    pub(super) fn charge(&mut self, now: Micros, amount: u64) -> u32 {
        let within = self.used.checked_add(amount).is_some_and(|used| used <= self.peak);
        if !within || self.draws.len() == self.draws.capacity() {
            self.roll(now);
        }
        let amount = amount.min(u64::MAX - self.used);
        match self.draws.back_mut() {
            Some((then, drawn)) if *then == now.0 => *drawn += amount,
            _ => self.draws.push_back((now.0, amount)),
        }
        self.used += amount;
        self.peak = self.peak.max(self.used);
        self.left.wrapping_add(self.draws.len() as u32 - 1)
    }

    #[inline]
    pub(super) fn settle(&mut self, ticket: u32, now: Micros, reserved: u64, settled: u64) {
        if settled > reserved {
            self.charge(now, settled - reserved);
        } else if let Some(draw) = self.draws.get_mut(ticket.wrapping_sub(self.left) as usize) {
            let back = (reserved - settled).min(draw.1);
            draw.1 -= back;
            self.used -= back;
        }
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
        assert!(bucket.draws.len() <= 4, "what no longer counts is forgotten");
    }

    /// What no longer counts is neither free nor in the peak any longer, however late it is forgotten: by a
    /// second computation over all draws.
    #[test]
    fn forgetting_late_changes_no_answer() {
        let mut bucket = Sliding::new(Window(60), 1_000);
        let (mut all, mut peak): (Vec<(u64, u64)>, u64) = (Vec::new(), 0);
        for step in 0u64..2_000 {
            let (now, amount) = (7 * step + step % 5, step * step % 97);
            let within = |all: &[(u64, u64)]| -> u64 {
                all.iter().filter(|(then, _)| now < then + 60).map(|(_, amount)| amount).sum()
            };
            let used = within(&all);
            assert_eq!(bucket.fits(Micros::seconds(now), amount), used + amount <= 1_000);
            let ticket = bucket.charge(Micros::seconds(now), amount);
            all.push((now, amount));
            peak = peak.max(used + amount);
            if step % 3 == 0 {
                bucket.settle(ticket, Micros::seconds(now), amount, amount / 2);
                all.last_mut().into_iter().for_each(|(_, amount)| *amount /= 2);
            }
            if step % 11 == 0 {
                assert_eq!(bucket.free(Micros::seconds(now)), 1_000u64.saturating_sub(within(&all)));
            }
            assert_eq!(bucket.peak, peak);
        }
    }

    /// What a call returns leaves the entry it stood in; later it returns nothing.
    #[test]
    fn a_return_belongs_to_its_draw() {
        let mut bucket = Sliding::new(Window(60), 100);
        let first = bucket.charge(Micros::seconds(1), 40);
        let second = bucket.charge(Micros::seconds(20), 60);
        assert_eq!(bucket.ready(Micros::seconds(20), 41), Some(Micros::seconds(80)));
        bucket.settle(second, Micros::seconds(30), 60, 10);
        assert_eq!(bucket.free(Micros::seconds(30)), 50);
        bucket.settle(first, Micros::seconds(61), 40, 0);
        assert_eq!(bucket.free(Micros::seconds(61)), 90);
        assert_eq!(bucket.ready(Micros::seconds(61), 101), None);
    }
}
