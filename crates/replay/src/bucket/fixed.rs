//! A counter that is reset when a window begins.
//!
//! Windows begin at multiples of their length from the origin of time. The invariant: an amount is
//! only ever returned to the window that it was drawn in.

use crate::limit::Window;
use crate::time::Micros;

#[derive(Debug, Clone)]
pub(crate) struct Fixed {
    pub(super) most: u64,
    length: u64,
    /// First instant after the present window.
    end: u64,
    used: u64,
    pub(super) peak: u64,
}

impl Fixed {
    pub(super) fn new(window: Window, most: u64) -> Self {
        let length = Micros::from(window).0.max(1);
        Self { most, length, end: length, used: 0, peak: 0 }
    }

    #[inline]
    fn roll(&mut self, now: Micros) {
        if now.0 >= self.end {
            self.end = (now.0 - now.0 % self.length).saturating_add(self.length);
            self.used = 0;
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
        self.used = self.used.saturating_add(amount);
        self.peak = self.peak.max(self.used);
    }

    pub(super) fn settle(&mut self, then: Micros, now: Micros, reserved: u64, settled: u64) {
        self.roll(now);
        if settled > reserved {
            self.charge(now, settled - reserved);
        } else if then.0 >= self.end - self.length {
            self.used = self.used.saturating_sub(reserved - settled);
        }
    }

    pub(super) fn free(&mut self, now: Micros) -> u64 {
        self.roll(now);
        self.most.saturating_sub(self.used)
    }

    pub(super) fn ready(&mut self, now: Micros, amount: u64) -> Option<Micros> {
        self.roll(now);
        (amount <= self.most).then_some(Micros(self.end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A call across the reset: what it returns is lost, what it draws beyond its estimate counts in
    /// the new window; inside one window the estimate is corrected.
    #[test]
    fn only_the_window_that_was_drawn_on_gets_anything_back() {
        let (at, after) = (Micros::seconds(59), Micros::seconds(61));
        let mut bucket = Fixed::new(Window(60), 1_000);
        bucket.charge(at, 900);
        assert!(!bucket.fits(at, 101) && bucket.fits(at, 100));
        bucket.settle(at, at, 900, 100);
        assert_eq!(bucket.free(at), 900);
        bucket.charge(at, 800);
        bucket.settle(at, after, 800, 100);
        assert_eq!(bucket.free(after), 1_000);
        bucket.settle(at, after, 100, 150);
        assert_eq!(bucket.free(after), 950);
        assert_eq!(bucket.ready(after, 1_000), Some(Micros::seconds(120)));
        assert_eq!(bucket.ready(after, 1_001), None);
    }
}
