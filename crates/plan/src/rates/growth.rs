//! Where a workflow's level is going, week by week, and how far off that may be.
//!
//! The level of a week is the median of its normal days. Forecasters are held against the history from
//! rolling origins; one is used where its errors are smaller than every baseline's, over the mean and at
//! most origins, else the best baseline is. Leaves events to `effect`. The invariants: the
//! interval is made of errors out of sample; nothing is extended past the weeks that were tested.

use jiff::civil::Date;
use jiff::{Timestamp, ToSpan};

use crate::context::Context;
use crate::rates::days::DayStarts;
use crate::rates::forecasters::{Method, level};
use crate::rates::student::t_quantile;

/// Weeks before the first origin, at least; a third of the history where that is more.
const FIRST_ORIGIN: usize = 6;
/// Fewest origins that decide anything.
const FEWEST_ORIGINS: usize = 6;
/// Most origins that are tried.
const MOST_ORIGINS: usize = 10;
/// Weeks ahead that are tested and used: a quarter, the time by which a request is filed ahead.
const FARTHEST: usize = 13;
/// Normal days that a week's median needs.
const FEWEST_DAYS: usize = 3;
/// Fewest weeks of history from which growth is told.
pub(crate) const FEWEST_WEEKS: usize = FIRST_ORIGIN + FEWEST_ORIGINS;

/// How a method did from each origin: mean absolute error over that of the naive step within the
/// weeks before it, so that 1 is as good as "like last week".
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Score {
    pub(crate) method: Method,
    pub(crate) origins: Vec<f64>,
}

impl Score {
    pub(crate) fn mean(&self) -> f64 {
        self.origins.iter().sum::<f64>() / self.origins.len() as f64
    }
}

/// A workflow's growth.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Growth {
    /// Too little is known, and none is assumed; why.
    Unknown(String),
    Known(Trend),
}

/// A chosen forecast.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Trend {
    pub(crate) method: Method,
    pub(crate) baseline: Method,
    /// Weeks of history.
    pub(crate) weeks: usize,
    pub(crate) scores: Vec<Score>,
    /// Log of level over that of today, by weeks ahead from one.
    ahead: Vec<f64>,
    /// Standard deviation of the log after one week; it widens with the root of weeks.
    step: f64,
    freedom: u32,
}

/// Level at an instant over that of today.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Factor {
    pub(crate) low: f64,
    pub(crate) point: f64,
    pub(crate) high: f64,
    /// Standard deviation of the log of the point.
    pub(crate) sd: f64,
}

impl Factor {
    /// No growth, and no doubt told.
    pub(crate) const NONE: Self = Self { low: 1.0, point: 1.0, high: 1.0, sd: 0.0 };
}

impl Growth {
    pub(crate) fn of(context: &Context<'_>, days: &[DayStarts]) -> Self {
        match logs(&weeks(days, context.today)) {
            Ok(logs) => {
                let known = Trend::of(&logs).map(Self::Known);
                known.unwrap_or_else(|| Self::Unknown("no method could be tested".to_owned()))
            }
            Err(why) => Self::Unknown(why),
        }
    }

    /// The factor after so many weeks.
    pub(crate) fn after(&self, weeks: usize) -> Factor {
        match self {
            Self::Unknown(_) => Factor::NONE,
            Self::Known(trend) => trend.after(weeks),
        }
    }

    /// Weeks from `as_of` to an instant, as far as growth is told: instants of one number grow alike.
    pub(crate) fn weeks_ahead(context: &Context<'_>, at: Timestamp) -> usize {
        let days = at.duration_since(context.input.as_of).as_secs().max(0) / 86_400;
        usize::try_from(days / 7).map_or(FARTHEST, |weeks| (weeks + 1).min(FARTHEST))
    }
}

impl Trend {
    /// Tests all methods on a series of logs and continues it with the one that is chosen.
    fn of(logs: &[f64]) -> Option<Self> {
        let first = FIRST_ORIGIN.max(logs.len().div_ceil(3));
        let candidates = logs.len().checked_sub(first)?;
        let count = candidates.min(MOST_ORIGINS);
        // Spread evenly, the last one a week before the end.
        let origins: Vec<usize> = (1..=count).map(|i| first - 1 + i * candidates / count).collect();
        let tests: Vec<(Score, Vec<f64>)> = Method::BASELINES
            .into_iter()
            .chain(Method::CANDIDATES)
            .filter_map(|m| test(m, logs, &origins))
            .collect();
        let best = |of: &[Method]| {
            let of = tests.iter().filter(|(score, _)| of.contains(&score.method));
            of.min_by(|(one, _), (other, _)| one.mean().total_cmp(&other.mean()))
        };
        let baseline = best(&Method::BASELINES)?;
        let (chosen, squares) = best(&Method::CANDIDATES)
            .filter(|(candidate, _)| {
                let pairs = candidate.origins.iter().zip(&baseline.0.origins);
                let wins = pairs.filter(|(candidate, baseline)| candidate < baseline).count();
                candidate.mean() < baseline.0.mean() && 2 * wins > origins.len()
            })
            .unwrap_or(baseline);
        let horizon = FARTHEST.min(logs.len() - first);
        let today = level(logs)?;
        let ahead = chosen.method.forecast(logs, horizon)?.into_iter().map(|log| log - today).collect();
        Some(Self {
            method: chosen.method,
            baseline: baseline.0.method,
            weeks: logs.len(),
            ahead,
            step: (squares.iter().sum::<f64>() / squares.len() as f64).sqrt(),
            freedom: u32::try_from(origins.len().saturating_sub(1)).unwrap_or(u32::MAX),
            scores: tests.into_iter().map(|(score, _)| score).collect(),
        })
    }

    /// Weeks ahead after which the level is held, since nothing farther was tested.
    pub(crate) fn farthest(&self) -> usize {
        self.ahead.len()
    }

    fn after(&self, weeks: usize) -> Factor {
        let weeks = weeks.clamp(1, self.ahead.len().max(1));
        let log = self.ahead.get(weeks - 1).copied().unwrap_or(0.0);
        let sd = self.step * (weeks as f64).sqrt();
        let reach = t_quantile(0.95, self.freedom) * sd;
        Factor { low: (log - reach).exp(), point: log.exp(), high: (log + reach).exp(), sd }
    }
}

/// A method's score, and its squared errors per week ahead. `None` where an origin is too early for it.
fn test(method: Method, logs: &[f64], origins: &[usize]) -> Option<(Score, Vec<f64>)> {
    let mut score = Score { method, origins: Vec::new() };
    let mut squares = Vec::new();
    for origin in origins {
        let (before, after) = logs.split_at_checked(*origin)?;
        let after = after.get(..FARTHEST.min(after.len()))?;
        let forecast = method.forecast(before, after.len())?;
        let errors: Vec<f64> = forecast.iter().zip(after).map(|(got, real)| (got - real).abs()).collect();
        squares.extend(errors.iter().zip(1..).map(|(error, ahead)| error * error / f64::from(ahead)));
        score.origins.push(errors.iter().sum::<f64>() / errors.len() as f64 / naive_step(before));
    }
    Some((score, squares))
}

/// Mean absolute change from week to week; a thousandth where nothing ever moves, so that scores stay
/// numbers.
fn naive_step(logs: &[f64]) -> f64 {
    let steps = logs.windows(2).map(|pair| (pair[1] - pair[0]).abs());
    let n = logs.len().saturating_sub(1).max(1);
    (steps.sum::<f64>() / n as f64).max(0.001)
}

/// Median runs a day over the normal days of each whole week before today, earliest first; `None` where
/// a week has too few.
fn weeks(days: &[DayStarts], today: Date) -> Vec<Option<u64>> {
    let mut weeks = Vec::new();
    let mut end = today;
    let mut left = days;
    while let Ok(start) = end.checked_sub(7.days())
        && left.first().is_some_and(|day| day.date <= start)
    {
        let (before, week) = left.split_at(left.partition_point(|day| day.date < start));
        let mut runs: Vec<u64> = week.iter().filter(|day| day.normal).map(|day| day.runs).collect();
        runs.sort_unstable();
        // Twice the median stays whole.
        let twice = runs.get(runs.len().saturating_sub(1) / 2).zip(runs.get(runs.len() / 2));
        weeks.push(twice.map(|(low, high)| low + high).filter(|_| runs.len() >= FEWEST_DAYS));
        (left, end) = (before, start);
    }
    weeks.reverse();
    weeks
}

/// Logs from the first week that ran; weeks without enough normal days lie on the line between their
/// neighbours.
fn logs(weeks: &[Option<u64>]) -> Result<Vec<f64>, String> {
    let ran = |week: &Option<u64>| week.is_some_and(|runs| runs > 0);
    let weeks = weeks.iter().position(ran).and_then(|first| weeks.get(first..)).unwrap_or_default();
    if weeks.len() < FEWEST_WEEKS {
        return Err(format!("{} whole weeks of history, and {FEWEST_WEEKS} are the least", weeks.len()));
    }
    let idle = weeks.iter().filter(|week| **week == Some(0)).count();
    if idle > 0 {
        return Err(format!("no run on most normal days of {idle} of {} weeks", weeks.len()));
    }
    let known: Vec<(usize, f64)> =
        weeks.iter().enumerate().filter_map(|(week, runs)| Some((week, ((*runs)? as f64).ln()))).collect();
    if known.len() * 4 < weeks.len() * 3 {
        let known = known.len();
        return Err(format!("only {known} of {} weeks have {FEWEST_DAYS} normal days", weeks.len()));
    }
    // Weeks after the last known one are like it.
    let mut logs = vec![known.last().map_or(0.0, |(_, log)| *log); weeks.len()];
    for pair in known.windows(2) {
        let ((from, low), (to, high)) = (pair[0], pair[1]);
        let between = logs.iter_mut().take(to).skip(from);
        between.zip(0_u32..).for_each(|(log, step)| {
            *log = low + (high - low) * f64::from(step) / (to - from) as f64;
        });
    }
    Ok(logs)
}

#[cfg(test)]
mod tests;
