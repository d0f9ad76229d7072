//! The windows of a history, and the instants from which plans are made.
//!
//! The invariants: windows are whole ones of 60 s that begin on UTC minutes; there are ten origins,
//! evenly spread, with no less than a third of the history before the first and at least one window
//! behind the last.

use plimsoll_replay::Micros;

use crate::error::BacktestError;

/// Length of the windows that a plan is held against.
const WINDOW: Micros = Micros::MINUTE;

/// Plans that are made.
const ORIGINS: usize = 10;

/// Fewest windows of a history: with a third of them before the first origin, ten plans have one each.
const FEWEST: usize = 15;

/// The whole windows of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    /// The first window, counted from 1970 or from where the trace begins.
    first: u64,
    windows: usize,
}

impl Period {
    /// The whole windows between the first call of a history and its last.
    #[must_use]
    pub fn between(first: Micros, last: Micros) -> Self {
        let (first, last) = (first.0.div_ceil(WINDOW.0), last.0 / WINDOW.0);
        Self { first, windows: usize::try_from(last.saturating_sub(first)).unwrap_or(usize::MAX) }
    }

    /// How many windows it has.
    #[must_use]
    pub fn windows(&self) -> usize {
        self.windows
    }

    /// When a window begins, by its place.
    #[must_use]
    pub fn start(&self, window: usize) -> Micros {
        Micros((self.first + window as u64).saturating_mul(WINDOW.0))
    }

    /// When the last one ends.
    #[must_use]
    pub fn end(&self) -> Micros {
        self.start(self.windows)
    }

    /// The window that an instant lies in; none outside.
    pub(crate) fn window(&self, at: Micros) -> Option<usize> {
        let window = usize::try_from((at.0 / WINDOW.0).checked_sub(self.first)?).ok()?;
        (window < self.windows).then_some(window)
    }

    /// Places of the first windows that each plan does not know, earliest first.
    ///
    /// # Errors
    /// [`BacktestError::Short`] where the history, which messages call `of`, is too short for ten.
    pub fn origins(&self, of: &str) -> Result<Vec<usize>, BacktestError> {
        if self.windows < FEWEST {
            return Err(BacktestError::Short { trace: of.to_owned(), windows: self.windows, fewest: FEWEST });
        }
        let first = self.windows.div_ceil(3);
        Ok((0..ORIGINS).map(|nth| first + nth * (self.windows - first) / ORIGINS).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: the first and the last minute are not whole; of 60 windows the first origin is the 20th,
    /// and the last leaves four.
    #[test]
    fn an_hour() -> Result<(), BacktestError> {
        let period = Period::between(Micros(59_999_999), Micros::minutes(61) + Micros(1));
        assert_eq!(
            (period.windows(), period.start(0), period.end()),
            (60, Micros::MINUTE, Micros::minutes(61))
        );
        assert_eq!(period.origins("hour")?, [20, 24, 28, 32, 36, 40, 44, 48, 52, 56]);
        assert_eq!(period.window(Micros::MINUTE), Some(0));
        assert_eq!((period.window(Micros::ZERO), period.window(period.end())), (None, None));
        Ok(())
    }

    /// Every length that is enough gives ten different origins behind a third, each with something
    /// behind it; a shorter one is refused.
    #[test]
    fn ten_origins_behind_a_third() -> Result<(), BacktestError> {
        for minutes in FEWEST..500 {
            let period = Period::between(Micros::ZERO, Micros::minutes(minutes as u64));
            let origins = period.origins("trace")?;
            assert_eq!(origins.len(), ORIGINS);
            assert!(3 * origins[0] >= minutes && origins[ORIGINS - 1] < minutes);
            assert!(origins.windows(2).all(|pair| pair[0] < pair[1]));
        }
        let short = Period::between(Micros::ZERO, Micros::minutes(14));
        assert!(matches!(short.origins("trace"), Err(BacktestError::Short { windows: 14, .. })));
        Ok(())
    }
}
