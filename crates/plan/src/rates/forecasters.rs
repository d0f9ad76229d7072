//! Ways to continue a weekly series: three baselines, and two forecasters that must beat them.
//!
//! All work on logarithms, so that growth is a factor. Leaves the choice to `growth`. The invariant: a
//! forecast is a function of the values alone, since only point forecasts are taken from the library
//! (its intervals are simulated without a seed).

use augurs_core::{Fit, Predict};
use augurs_ets::AutoETS;

/// Weeks whose mean is the level of today.
pub(crate) const LEVEL_WEEKS: usize = 4;
/// Weeks of a year, for the seasonal baseline.
const YEAR: usize = 52;
/// What is left of a trend from one week to the next (Gardner and McKenzie's damping, at its usual value).
const DAMPING: f64 = 0.9;

/// A way to continue a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Method {
    /// No growth: the mean of the last four weeks. A baseline.
    Level,
    /// The line from the first to the last week. A baseline.
    Drift,
    /// The same week a year ago. A baseline.
    SeasonalNaive,
    /// The median of all slopes, damped.
    TheilSen,
    /// Exponential smoothing with a damped additive trend, fitted.
    Ets,
}

impl Method {
    /// What a plan is made with where nothing beats it.
    pub(crate) const BASELINES: [Self; 3] = [Self::Level, Self::Drift, Self::SeasonalNaive];
    /// What may beat them, simplest first.
    pub(crate) const CANDIDATES: [Self; 2] = [Self::TheilSen, Self::Ets];

    /// Its name in plan.json.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Level => "level",
            Self::Drift => "drift",
            Self::SeasonalNaive => "seasonal_naive",
            Self::TheilSen => "damped_theil_sen",
            Self::Ets => "ets",
        }
    }

    /// The same in words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Level => "no growth (the mean of the last four weeks)",
            Self::Drift => "drift (the line from first to last week)",
            Self::SeasonalNaive => "the same week a year ago",
            Self::TheilSen => "a damped Theil-Sen trend",
            Self::Ets => "exponential smoothing with a damped trend",
        }
    }

    /// The next `horizon` values; `None` where the series is too short for it.
    pub(crate) fn forecast(self, logs: &[f64], horizon: usize) -> Option<Vec<f64>> {
        let n = logs.len();
        let (first, last) = (*logs.first()?, *logs.last()?);
        let ahead = 1..=horizon;
        match self {
            Self::Level => Some(vec![level(logs)?; horizon]),
            Self::Drift => {
                let slope = (last - first) / (n.checked_sub(1).filter(|steps| *steps > 0)? as f64);
                Some(ahead.map(|h| last + slope * h as f64).collect())
            }
            Self::SeasonalNaive => {
                let year = logs.get(n.checked_sub(YEAR)?..)?;
                Some(year.iter().cycle().take(horizon).copied().collect())
            }
            Self::TheilSen => {
                let slope = median(slopes(logs))?;
                // Where the line of that slope through the middle of the series stands today.
                let today = median((0..n).map(|i| logs[i] + slope * (n - 1 - i) as f64).collect())?;
                let damped = |h: usize| (1..=h).map(|step| DAMPING.powi(step as i32)).sum::<f64>();
                Some(ahead.map(|h| today + slope * damped(h)).collect())
            }
            Self::Ets => {
                let fitted = AutoETS::new(1, "AAN").ok()?.damped(true).ok()?.fit(logs).ok()?;
                let points = fitted.predict(horizon, None).ok()?.point;
                (points.len() == horizon && points.iter().all(|point| point.is_finite())).then_some(points)
            }
        }
    }
}

/// The mean of the last weeks.
pub(crate) fn level(logs: &[f64]) -> Option<f64> {
    let last = logs.get(logs.len().saturating_sub(LEVEL_WEEKS)..)?;
    (!last.is_empty()).then(|| last.iter().sum::<f64>() / last.len() as f64)
}

fn slopes(logs: &[f64]) -> Vec<f64> {
    let pairs = (0..logs.len()).flat_map(|i| (i + 1..logs.len()).map(move |j| (i, j)));
    pairs.map(|(i, j)| (logs[j] - logs[i]) / (j - i) as f64).collect()
}

fn median(mut of: Vec<f64>) -> Option<f64> {
    of.sort_unstable_by(f64::total_cmp);
    let (low, high) = (of.get(of.len().checked_sub(1)? / 2)?, of.get(of.len() / 2)?);
    Some(f64::midpoint(*low, *high))
}
