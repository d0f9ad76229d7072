//! How many are inside, over time.
//!
//! The invariant, Little's law: the time spent at each level, weighted by the level, is the sum of the
//! time that each one spent inside. Both sides are added up apart, in whole microseconds, so that
//! they are equal or a replay is wrong.

use crate::sample::percentile_rank;
use crate::time::Micros;

/// One boundary: who enters it and leaves it.
#[derive(Debug, Clone)]
pub(crate) struct Gauge {
    from: u64,
    /// How many were inside when counting began.
    at_first: usize,
    inside: usize,
    since: u64,
    /// Microseconds at each level.
    at_level: Vec<u64>,
    /// Microseconds spent inside by those who left.
    stays: u128,
    /// Those who were inside at some time.
    entered: u64,
}

impl Gauge {
    /// Counts from an instant on; who enters before is inside at it.
    pub(crate) fn new(from: Micros) -> Self {
        Self {
            from: from.0,
            at_first: 0,
            inside: 0,
            since: from.0,
            at_level: Vec::new(),
            stays: 0,
            entered: 0,
        }
    }

    pub(crate) fn inside(&self) -> usize {
        self.inside
    }

    #[inline]
    fn pass(&mut self, now: Micros) {
        let passed = now.0.saturating_sub(self.since);
        if passed > 0 {
            if self.at_level.len() <= self.inside {
                self.at_level.resize(self.inside + 1, 0);
            }
            self.at_level[self.inside] += passed;
            if self.since == self.from {
                self.at_first = self.inside;
            }
            self.since = now.0;
        }
    }

    #[inline]
    pub(crate) fn enter(&mut self, now: Micros) {
        self.pass(now);
        self.inside += 1;
        self.entered += 1;
    }

    #[inline]
    pub(crate) fn leave(&mut self, entered: Micros, now: Micros) {
        self.pass(now);
        self.inside -= 1;
        let stay = now.0.saturating_sub(entered.0.max(self.from));
        self.stays += u128::from(stay);
        if now.0 < self.from || (now.0 == self.from && entered.0 < self.from) {
            self.entered -= 1;
        }
    }

    /// The reading at the end, when those still inside have spent so many microseconds there.
    pub(crate) fn read(&mut self, to: Micros, still: u128) -> Reading {
        self.pass(to);
        let levels = self.at_level.iter().enumerate();
        let area = levels.map(|(level, &time)| level as u128 * u128::from(time)).sum();
        Reading {
            area,
            stays: self.stays + still,
            entered: self.entered,
            micros: to.0.saturating_sub(self.from),
            p95: self.percentile(95),
            grew: self.inside as i64 - self.at_first as i64,
            max: self.at_level.iter().rposition(|&time| time > 0).unwrap_or(0) as u64,
        }
    }

    /// The smallest level at or under which a gauge stood for so many percent of the time.
    fn percentile(&self, percent: u64) -> u64 {
        let all = self.at_level.iter().map(|&time| u128::from(time)).sum();
        let rank = percentile_rank(all, percent);
        let mut passed = 0u128;
        for (level, &time) in self.at_level.iter().enumerate() {
            passed += u128::from(time);
            if time > 0 && passed >= rank {
                return level as u64;
            }
        }
        0
    }
}

/// What a gauge showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reading {
    /// Level x time, from the levels.
    pub(crate) area: u128,
    /// Level x time, from each one's stay.
    pub(crate) stays: u128,
    pub(crate) entered: u64,
    pub(crate) micros: u64,
    pub(crate) p95: u64,
    pub(crate) max: u64,
    /// How many more were inside at the end than when counting began.
    pub(crate) grew: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: two inside for 10 us, one for 10 more, nobody for 80; the second half of the law from
    /// the stays of 10 and 20.
    #[test]
    fn levels_and_stays_agree() {
        let mut gauge = Gauge::new(Micros(100));
        gauge.enter(Micros(90));
        gauge.enter(Micros(100));
        gauge.leave(Micros(100), Micros(110));
        gauge.leave(Micros(90), Micros(120));
        let read = gauge.read(Micros(200), 0);
        assert_eq!((read.area, read.stays, read.entered, read.micros), (30, 30, 2, 100));
        assert_eq!((read.p95, read.max), (2, 2));
    }

    /// Whoever leaves before counting begins never counted; whoever stays is counted to the end.
    #[test]
    fn only_time_within_the_measure_counts() {
        let mut gauge = Gauge::new(Micros(100));
        gauge.enter(Micros(10));
        gauge.leave(Micros(10), Micros(50));
        gauge.enter(Micros(150));
        let read = gauge.read(Micros(200), 50);
        assert_eq!((read.area, read.stays, read.entered), (50, 50, 1));
    }
}
