//! A limit over its window and its slices, and the peaks that pass it.
//!
//! Leaves measuring to whoever has the calls. The invariant: a peak is only ever compared with the
//! limit of the same window, so 60,000 calls in one second are not 1,000 a second (DESIGN, counting
//! rule 6).

use serde::{Deserialize, Serialize};

/// The length of a half-open window, seconds. Not a number, so that a limit's amount and its window
/// cannot be taken for each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Window(pub u32);

/// A limit as a provider enforces it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// Most that may be drawn in one window.
    pub most: u64,
    /// Its window.
    pub window: Window,
    /// Shorter windows over which a proportional share is held too, where the provider does so.
    pub slice: Option<Window>,
}

/// A window in which more was drawn than the limit lets through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Breach {
    /// The window that was compared.
    pub window: Window,
    /// Most that may be drawn in it.
    pub most: u64,
    /// What was drawn in the busiest.
    pub peak: u64,
}

impl Limit {
    /// What may be drawn in the limit's window, and in its slice, rounded down but never to nothing.
    pub fn enforced(&self) -> impl Iterator<Item = (Window, u64)> {
        let slice = self.slice.filter(|slice| 0 < slice.0 && *slice < self.window).map(|slice| {
            let share = u128::from(self.most) * u128::from(slice.0) / u128::from(self.window.0);
            (slice, u64::try_from(share).unwrap_or(u64::MAX).max(self.most.min(1)))
        });
        std::iter::once((self.window, self.most)).chain(slice)
    }

    /// Where the busiest windows draw more than the limit lets through. `peak` tells the busiest
    /// window of a length, or nothing where that length was not measured: then nothing is claimed.
    pub fn breaches(&self, peak: impl Fn(Window) -> Option<u64>) -> Vec<Breach> {
        self.enforced()
            .filter_map(|(window, most)| Some(Breach { window, most, peak: peak(window)? }))
            .filter(|breach| breach.peak > breach.most)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Window = Window(1);
    const MINUTE: Window = Window(60);
    const DAY: Window = Window(86_400);

    /// 60,000 calls in the first second of a minute, then silence.
    fn burst(window: Window) -> Option<u64> {
        [SECOND, MINUTE].contains(&window).then_some(60_000)
    }

    /// T38: the burst fits the minute and breaks its second; a mean would have shown 1,000 a second.
    /// A day's limit is not compared with a minute's sum.
    #[test]
    fn t38_each_peak_meets_the_limit_of_its_own_window() {
        let limit = Limit { most: 120_000, window: MINUTE, slice: Some(SECOND) };
        assert_eq!(limit.breaches(burst), [Breach { window: SECOND, most: 2_000, peak: 60_000 }]);
        assert_eq!(Limit { slice: None, ..limit }.breaches(burst), []);
        assert_eq!(Limit { most: 59_999, window: MINUTE, slice: None }.breaches(burst).len(), 1);
        assert_eq!(Limit { most: 1, window: DAY, slice: None }.breaches(burst), []);
    }

    /// AZ9: of 600 requests a minute, held by the second, the eleventh in a second is refused.
    #[test]
    fn az9_the_eleventh_request_in_a_second_is_refused() {
        let limit = Limit { most: 600, window: MINUTE, slice: Some(SECOND) };
        let refused = |peak| !limit.breaches(|window| (window == SECOND).then_some(peak)).is_empty();
        assert!(!refused(10) && refused(11));
    }

    /// Protects against slices that make no sense: one as long as the window, or a share below one.
    #[test]
    fn odd_slices_change_nothing() {
        let enforced =
            |most, slice| Limit { most, window: MINUTE, slice: Some(slice) }.enforced().collect::<Vec<_>>();
        assert_eq!(enforced(600, MINUTE), [(MINUTE, 600)]);
        assert_eq!(enforced(600, Window(0)), [(MINUTE, 600)]);
        assert_eq!(enforced(5, SECOND), [(MINUTE, 5), (SECOND, 1)]);
    }
}
