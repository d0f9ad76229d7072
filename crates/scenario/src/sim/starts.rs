//! When the runs of one workflow start.
//!
//! A Poisson process whose rate follows the windows of the file and whose unevenness is gamma: one
//! factor a minute and one a second. Days are drawn one at a time, each from its own generator.

use std::collections::VecDeque;

use jiff::ToSpan;
use jiff::civil::{Date, Time};
use rand::RngExt;
use rand_distr::{Distribution, Gamma, Poisson};

use super::calendar::Calendar;
use super::time::{MINUTE, SECOND, nanos};
use crate::file::{Arrivals, Burstiness};
use crate::random::{Random, keyed, pick};

/// One run that starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Start {
    /// When.
    pub(super) at: u64,
    /// When it was queued: at the trigger, or as it started.
    pub(super) queued: u64,
}

/// The starts of one workflow, in order of time.
#[derive(Debug)]
pub(super) struct Starts {
    windows: Vec<Arrivals>,
    unevenness: Unevenness,
    calendar: Calendar,
    scale: f64,
    seed: u64,
    stream: u64,
    next_day: Date,
    days_left: u32,
    today: VecDeque<Start>,
}

impl Starts {
    pub(super) fn new(
        windows: Vec<Arrivals>,
        burstiness: Option<Burstiness>,
        calendar: Calendar,
        (first, days): (Date, u32),
        scale: f64,
        (seed, stream): (u64, u64),
    ) -> Self {
        let unevenness = burstiness.map_or(Unevenness::NONE, Unevenness::of);
        Self {
            windows,
            unevenness,
            calendar,
            scale,
            seed,
            stream,
            next_day: first,
            days_left: days,
            today: VecDeque::new(),
        }
    }

    /// The next start, which stays.
    pub(super) fn peek(&mut self) -> Option<Start> {
        while self.today.is_empty() && self.days_left > 0 {
            self.draw_day();
        }
        self.today.front().copied()
    }

    /// Drops the next start.
    pub(super) fn pop(&mut self) {
        self.today.pop_front();
    }

    fn draw_day(&mut self) {
        let day = self.next_day;
        self.next_day = day.saturating_add(1.day());
        self.days_left -= 1;
        let mut random = keyed(self.seed, self.stream, u64::from(self.days_left));
        let midnight = |day| self.calendar.instant(day, Time::midnight());
        let (Some(begin), Some(end)) = (midnight(day), midnight(self.next_day)) else { return };
        let open: Vec<Open<'_>> = self
            .windows
            .iter()
            .filter(|window| self.calendar.holds(window.days, day))
            .filter_map(|window| {
                let from = self.calendar.instant(day, window.from)?;
                let to = if window.to == Time::midnight() {
                    end
                } else {
                    self.calendar.instant(day, window.to)?
                };
                Some(Open { window, from, to })
            })
            .collect();
        let mut starts = Vec::new();
        for minute in (begin..end).step_by(MINUTE as usize) {
            let here = || open.iter().filter(|open| open.from <= minute && minute < open.to);
            let factor: f64 = here().filter_map(|open| open.window.factor).product();
            let rate: f64 =
                here().filter(|open| open.window.queued.is_none()).map(|open| open.window.rate()).sum();
            let counted = self.unevenness.starts(rate * factor * self.scale, &mut random);
            starts
                .extend(counted.into_iter().map(|offset| minute + offset).map(|at| Start { at, queued: at }));
        }
        for open in open {
            if let Some(queued) = open.window.queued {
                self.release(open, queued * self.scale, &mut random, &mut starts);
            }
        }
        starts.sort_unstable();
        self.today = starts.into();
    }

    /// Starts of what a trigger queued: at its rate until none is left, or within two seconds.
    fn release(&self, open: Open<'_>, queued: f64, random: &mut Random, starts: &mut Vec<Start>) {
        let mut left = (queued + random.random::<f64>()) as usize;
        let Some(rate) = open.window.runs_per_min else {
            starts.extend(
                (0..left).map(|_| Start {
                    at: open.from + nanos(2.0 * random.random::<f64>()),
                    queued: open.from,
                }),
            );
            return;
        };
        for minute in (open.from..open.to).step_by(MINUTE as usize) {
            let mut offsets = self.unevenness.starts(rate * self.scale, random);
            offsets.sort_unstable();
            offsets.truncate(left);
            left -= offsets.len();
            starts.extend(offsets.into_iter().map(|offset| Start { at: minute + offset, queued: open.from }));
            if left == 0 {
                break;
            }
        }
    }
}

/// A window on one day.
#[derive(Clone, Copy)]
struct Open<'a> {
    window: &'a Arrivals,
    from: u64,
    to: u64,
}

/// Squared coefficients of variation of the two gamma factors.
#[derive(Debug, Clone, Copy)]
struct Unevenness {
    minute: f64,
    second: f64,
}

impl Unevenness {
    const NONE: Self = Self { minute: 0.0, second: 0.0 };

    /// The factors under which counts have the variance that was measured.
    ///
    /// A count with mean `m` and a rate factor of squared variation `c` has variance over mean
    /// `1 + m c`. A second sees both factors, `(1 + minute)(1 + second) - 1`; a minute sees its own
    /// and the average of sixty of the other. Two equations, solved for both.
    fn of(measured: Burstiness) -> Self {
        let in_minute = (measured.per_minute - 1.0) / measured.at_runs_per_min;
        let in_second = (measured.per_second - 1.0) * 60.0 / measured.at_runs_per_min;
        let second = ((in_second - in_minute) / (1.0 + in_minute - (1.0 + in_second) / 60.0)).max(0.0);
        let minute = ((1.0 + in_second) / (1.0 + second) - 1.0).max(0.0);
        Self { minute, second }
    }

    /// Offsets within a minute of runs that start at a mean rate of `per_min`.
    ///
    /// The sum of sixty gamma factors is gamma again, and independent of how it divides: so their
    /// sum is drawn first, and they themselves only where something starts.
    fn starts(self, per_min: f64, random: &mut Random) -> Vec<u64> {
        let rate = per_min * gamma(self.minute, random) * gamma(self.second / 60.0, random);
        let count = Poisson::new(rate).map_or(0.0, |poisson| poisson.sample(random)) as usize;
        if count == 0 {
            return Vec::new();
        }
        let seconds: Vec<f64> = (0..60).map(|_| gamma(self.second, random)).collect();
        (0..count)
            .map(|_| pick(random, seconds.iter().copied()) as u64 * SECOND + random.random_range(0..SECOND))
            .collect()
    }
}

/// A gamma factor of mean 1 with that squared coefficient of variation.
fn gamma(variation: f64, random: &mut Random) -> f64 {
    Gamma::new(1.0 / variation, variation).map_or(1.0, |gamma| gamma.sample(random))
}

#[cfg(test)]
mod tests {
    use super::{SECOND, Unevenness};
    use crate::file::Burstiness;
    use crate::random::keyed;

    /// Variance over mean of the counts.
    fn index(counts: &[u32]) -> f64 {
        let n = counts.len() as f64;
        let mean = counts.iter().copied().map(f64::from).sum::<f64>() / n;
        let square: f64 = counts.iter().map(|count| (f64::from(*count) - mean).powi(2)).sum();
        square / (n - 1.0) / mean
    }

    fn measured_again(burstiness: Burstiness) -> (f64, f64) {
        let mut random = keyed(1, 0, 0);
        let (mut seconds, mut minutes) = (vec![0; 60 * 6_000], vec![0; 6_000]);
        let unevenness = Unevenness::of(burstiness);
        for minute in 0..minutes.len() {
            for offset in unevenness.starts(burstiness.at_runs_per_min, &mut random) {
                minutes[minute] += 1;
                seconds[minute * 60 + (offset / SECOND) as usize] += 1;
            }
        }
        (index(&seconds), index(&minutes))
    }

    /// Protects the arrivals: at the rate where it was measured, variance over mean comes out as the
    /// traces have it (Azure conversation: 1.4 and 20; Azure code: 13 and 160).
    #[test]
    fn burstiness_is_met_where_it_was_measured() {
        let conversation = Burstiness { per_second: 1.4, per_minute: 20.0, at_runs_per_min: 334.0 };
        let code = Burstiness { per_second: 13.0, per_minute: 160.0, at_runs_per_min: 155.0 };
        for measured in [conversation, code] {
            let (second, minute) = measured_again(measured);
            assert!((second / measured.per_second - 1.0).abs() < 0.1, "{second}");
            assert!((minute / measured.per_minute - 1.0).abs() < 0.1, "{minute}");
        }
    }
}
