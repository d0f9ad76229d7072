//! Buckets that flow: one that refills, one that drains.
//!
//! The invariant: a level is an integer of amount x microseconds, so `most` a window over any length
//! of time is exact, and a year of steps of one microsecond adds up to a year.

use crate::limit::Window;
use crate::time::Micros;

/// What flows and how fast, common to both directions. Levels are scaled by the window's length.
#[derive(Debug, Clone)]
struct Flow {
    /// Amount that flows in a window, which is what flows in a microsecond once scaled.
    most: u64,
    window: u64,
    last: u64,
}

#[inline]
fn product(one: u64, other: u64) -> i128 {
    i128::from(one) * i128::from(other)
}

impl Flow {
    fn new(window: Window, most: u64) -> Self {
        Self { most, window: Micros::from(window).0.max(1), last: 0 }
    }

    #[inline]
    fn since(&mut self, now: Micros) -> i128 {
        let passed = now.0.saturating_sub(self.last);
        self.last = now.0;
        product(self.most, passed)
    }

    #[inline]
    fn scaled(&self, amount: u64) -> i128 {
        product(amount, self.window)
    }

    /// Whole amount in a scaled level, rounded down; none where it is below nothing.
    fn whole(&self, level: i128) -> u64 {
        u64::try_from((level / i128::from(self.window)).max(0)).unwrap_or(u64::MAX)
    }

    /// The instant by which a scaled amount has flowed.
    fn after(&self, now: Micros, missing: i128) -> Option<Micros> {
        (self.most > 0).then(|| {
            let most = i128::from(self.most);
            let wait = (missing + most - 1) / most;
            Micros(now.0.saturating_add(u64::try_from(wait.max(1)).unwrap_or(u64::MAX)))
        })
    }
}

/// A bucket of tokens: full at the start, drawn from, refilled steadily.
#[derive(Debug, Clone)]
pub(crate) struct Refill {
    flow: Flow,
    pub(super) holds: u64,
    full: i128,
    level: i128,
    lowest: i128,
}

impl Refill {
    pub(super) fn new(window: Window, most: u64, holds: u64) -> Self {
        let flow = Flow::new(window, most);
        let full = flow.scaled(holds);
        Self { flow, holds, full, level: full, lowest: full }
    }

    #[inline]
    fn roll(&mut self, now: Micros) {
        self.level = (self.level + self.flow.since(now)).min(self.full);
    }

    #[inline]
    pub(super) fn fits(&mut self, now: Micros, amount: u64) -> bool {
        self.roll(now);
        self.flow.scaled(self.room_for(amount)) <= self.level
    }

    /// What must be there for an amount: a full bucket for one that is larger, though not than what flows
    /// in within the window.
    #[inline]
    fn room_for(&self, amount: u64) -> u64 {
        if amount > self.holds && amount <= self.largest() { self.holds } else { amount }
    }

    pub(super) fn largest(&self) -> u64 {
        self.flow.most.max(self.holds)
    }

    #[inline]
    pub(super) fn charge(&mut self, now: Micros, amount: u64) {
        self.roll(now);
        self.level -= self.flow.scaled(amount);
        self.lowest = self.lowest.min(self.level);
    }

    #[inline]
    pub(super) fn settle(&mut self, now: Micros, reserved: u64, settled: u64) {
        self.roll(now);
        self.level += self.flow.scaled(reserved) - self.flow.scaled(settled);
        self.level = self.level.min(self.full);
        self.lowest = self.lowest.min(self.level);
    }

    pub(super) fn free(&mut self, now: Micros) -> u64 {
        self.roll(now);
        self.flow.whole(self.level)
    }

    pub(super) fn ready(&mut self, now: Micros, amount: u64) -> Option<Micros> {
        self.roll(now);
        if amount > self.largest() {
            return None;
        }
        self.flow.after(now, self.flow.scaled(self.room_for(amount)) - self.level)
    }

    pub(super) fn peak(&self) -> u64 {
        let drawn = self.full - self.lowest;
        self.flow.whole(drawn + i128::from(self.flow.window) - 1)
    }
}

/// A level that drains: empty at the start, raised by calls.
#[derive(Debug, Clone)]
pub(crate) struct Drain {
    flow: Flow,
    brim: i128,
    level: i128,
    highest: i128,
}

impl Drain {
    pub(super) fn new(window: Window, most: u64) -> Self {
        let flow = Flow::new(window, most);
        let brim = flow.scaled(most);
        Self { flow, brim, level: 0, highest: 0 }
    }

    #[inline]
    fn roll(&mut self, now: Micros) {
        self.level = (self.level - self.flow.since(now)).max(0);
    }

    #[inline]
    pub(super) fn fits(&mut self, now: Micros) -> bool {
        self.roll(now);
        self.level < self.brim
    }

    #[inline]
    pub(super) fn charge(&mut self, now: Micros, amount: u64) {
        self.roll(now);
        self.level += self.flow.scaled(amount);
        self.highest = self.highest.max(self.level);
    }

    #[inline]
    pub(super) fn settle(&mut self, now: Micros, reserved: u64, settled: u64) {
        self.roll(now);
        self.level = (self.level + self.flow.scaled(settled) - self.flow.scaled(reserved)).max(0);
        self.highest = self.highest.max(self.level);
    }

    pub(super) fn free(&mut self, now: Micros) -> u64 {
        self.roll(now);
        let left = self.brim - self.level;
        // Something is left as long as the level is below the brim, be it less than one.
        self.flow.whole(left).max(u64::from(left > 0))
    }

    pub(super) fn ready(&mut self, now: Micros) -> Option<Micros> {
        self.roll(now);
        self.flow.after(now, self.level - self.brim + 1)
    }

    pub(super) fn largest(&self) -> u64 {
        if self.brim > 0 { u64::MAX } else { 0 }
    }

    pub(super) fn peak(&self) -> u64 {
        self.flow.whole(self.highest + i128::from(self.flow.window) - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 60 a minute is one a second. Full at 60, drawn to 0, ten seconds later ten are there
    /// and the eleventh is not; it is at eleven seconds, to the microsecond.
    #[test]
    fn a_token_bucket_refills_to_the_microsecond() {
        let mut bucket = Refill::new(Window(60), 60, 60);
        bucket.charge(Micros::ZERO, 60);
        let ten = Micros::seconds(10);
        assert!(bucket.fits(ten, 10) && !bucket.fits(ten, 11));
        assert_eq!(bucket.ready(ten, 11), Some(Micros::seconds(11)));
        assert!(!bucket.fits(Micros(10_999_999), 11) && bucket.fits(Micros::seconds(11), 11));
        assert_eq!(bucket.ready(Micros::seconds(11), 61), None);
        assert_eq!(bucket.free(Micros::HOUR), 60);
        assert_eq!(bucket.peak(), 60);
    }

    /// A call that draws beyond its estimate leaves a debt that the refill pays first; one that
    /// returns more than is missing does not overfill it.
    #[test]
    fn a_token_bucket_can_be_in_debt_but_not_overfull() {
        let mut bucket = Refill::new(Window(60), 60, 60);
        bucket.charge(Micros::ZERO, 60);
        bucket.settle(Micros::ZERO, 60, 65);
        assert_eq!(bucket.ready(Micros::ZERO, 1), Some(Micros::seconds(6)));
        bucket.settle(Micros::seconds(30), 60, 0);
        assert_eq!(bucket.free(Micros::seconds(30)), 60);
    }

    /// A bucket that holds ten seconds of sixty a minute: a call of fifteen waits for it to be full, goes
    /// in, and leaves a debt of five that the next one waits for; one of sixty-one never goes in.
    #[test]
    fn a_call_larger_than_the_bucket_needs_it_full() {
        let mut bucket = Refill::new(Window(60), 60, 10);
        bucket.charge(Micros::ZERO, 1);
        assert!(!bucket.fits(Micros::ZERO, 15));
        assert_eq!(bucket.ready(Micros::ZERO, 15), Some(Micros::SECOND));
        assert!(bucket.fits(Micros::SECOND, 15));
        bucket.charge(Micros::SECOND, 15);
        assert_eq!(bucket.ready(Micros::SECOND, 1), Some(Micros::seconds(7)));
        assert_eq!(bucket.ready(Micros::HOUR, 61), None);
        assert_eq!((bucket.largest(), bucket.free(Micros::HOUR)), (60, 10));
    }

    /// A leaky bucket lets one call pass the brim, none after it until it has drained below, and a
    /// limit of nothing lets none through.
    #[test]
    fn a_leaky_bucket_admits_below_the_brim_only() {
        let mut bucket = Drain::new(Window(60), 600);
        assert!(bucket.fits(Micros::ZERO));
        bucket.charge(Micros::ZERO, 900);
        assert!(!bucket.fits(Micros::seconds(30)));
        assert_eq!(bucket.ready(Micros::seconds(30)), Some(Micros(30_000_001)));
        assert!(bucket.fits(Micros(30_000_001)));
        bucket.settle(Micros(30_000_001), 900, 100);
        assert_eq!(bucket.free(Micros(30_000_001)), 600);
        assert!(!Drain::new(Window(60), 0).fits(Micros::ZERO));
    }
}
