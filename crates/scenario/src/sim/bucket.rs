//! One limit that refills steadily.
//!
//! Invariant: the level never exceeds the capacity; it may fall below zero where a settlement costs
//! more than its admission.

use super::SECOND;

/// A token bucket.
#[derive(Debug, Clone)]
pub(super) struct Bucket {
    per_min: f64,
    capacity: f64,
    level: f64,
    at: u64,
}

impl Bucket {
    /// A full bucket that refills by `per_min` a minute and holds `burst_s` seconds of that.
    pub(super) fn new(per_min: f64, burst_s: f64, at: u64) -> Self {
        let capacity = per_min * burst_s / 60.0;
        Self { per_min, capacity, level: capacity, at }
    }

    /// Brings the level up to now.
    pub(super) fn refill(&mut self, now: u64) {
        let seconds = now.saturating_sub(self.at) as f64 / SECOND as f64;
        self.level = (self.level + seconds * self.per_min / 60.0).min(self.capacity);
        self.at = self.at.max(now);
    }

    /// Seconds until `amount` could be taken; zero if it can now. What is larger than the bucket
    /// needs a full one.
    pub(super) fn wait_s(&self, amount: f64) -> f64 {
        (amount.min(self.capacity) - self.level).max(0.0) * 60.0 / self.per_min
    }

    /// Takes `amount`, or gives it back where it is negative.
    pub(super) fn take(&mut self, amount: f64) {
        self.level = (self.level - amount).min(self.capacity);
    }

    /// How full the limit is used: 0 idle, 1 or more at the limit.
    pub(super) fn utilisation(&self) -> f64 {
        1.0 - self.level / self.capacity
    }

    /// The limit a minute, and what of it is left, as a provider's headers tell them.
    pub(super) fn told(&self) -> (i64, i64) {
        (self.per_min as i64, (self.level / self.capacity * self.per_min).max(0.0) as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::{Bucket, SECOND};

    /// Protects the arithmetic of refusal: 750,000 a minute refill 12,500 a second.
    #[test]
    fn refills_by_the_second() {
        let mut bucket = Bucket::new(750_000.0, 12.0, 0);
        bucket.take(150_000.0);
        assert!((bucket.wait_s(25_000.0) - 2.0).abs() < 1e-9);
        bucket.refill(2 * SECOND);
        assert!(bucket.wait_s(25_000.0).abs() < 1e-9);
        assert!((bucket.utilisation() - 125_000.0 / 150_000.0).abs() < 1e-9);
    }

    /// Protects the bound: a bucket left alone is full, not overfull, and a giant call needs it full.
    #[test]
    fn never_holds_more_than_its_capacity() {
        let mut bucket = Bucket::new(60.0, 10.0, 0);
        bucket.refill(3600 * SECOND);
        assert!(bucket.wait_s(1e9).abs() < 1e-9);
        bucket.take(10.0);
        assert!((bucket.wait_s(1e9) - 10.0).abs() < 1e-9);
    }
}
