//! Windows over which the use of reserved units is enforced, where they shrink as units grow.
//!
//! A provider that enforces over a window lets through what the units serve in it; nothing is carried
//! over from one window to the next. It may document a range of lengths only: the shortest is judged by,
//! since a burst that fits into it fits into all. Invariant: because the window shrinks, more units can
//! let through less at once, so counts are searched band by band and never by one division.

use num_rational::Ratio;
use num_traits::{CheckedAdd, CheckedMul};
use serde::{Deserialize, Serialize};

use crate::Unit;

/// The window of all counts from `from_units` to the next band.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnitWindow {
    /// Fewest units that it is for.
    pub from_units: u64,
    /// Shortest length that is documented, seconds.
    pub shortest_s: u32,
    /// Longest, seconds.
    pub longest_s: u32,
}

impl Unit {
    /// The window in which the use of so many units is enforced; none where there are no windows.
    pub fn window(&self, units: u64) -> Option<&UnitWindow> {
        self.windows.iter().rfind(|window| window.from_units <= units)
    }

    /// What `units` let through in `seconds`: nothing is carried over, so this is the most at once.
    pub fn budget(&self, units: u64, seconds: u32) -> Option<u64> {
        let whole = u128::from(self.throughput?) * u128::from(units);
        u64::try_from(whole.checked_mul(seconds.into())? / u128::from(self.per_s.max(1))).ok()
    }

    /// The same in the shortest window documented for so many units.
    ///
    /// ```
    /// # use plimsoll_catalog::{Carries, Unit, UnitWindow};
    /// let window = |from_units, shortest_s, longest_s| UnitWindow { from_units, shortest_s, longest_s };
    /// let gsu = Unit {
    ///     throughput: Some(2690), per_s: 1,
    ///     windows: vec![window(1, 40, 120), window(4, 5, 30), window(50, 1, 5)],
    ///     ..Unit::named("GSU", Carries::Tokens)
    /// };
    /// // 300,000 tokens at once would pass one unit's window of 120 s, but not the one of 40 s.
    /// assert_eq!(gsu.budget(1, 120), Some(322_800));
    /// assert_eq!(gsu.worst_budget(1), Some(107_600));
    /// // Sixty units let through less in their second than three in their forty.
    /// assert_eq!(gsu.worst_budget(60), Some(161_400));
    /// assert_eq!(gsu.worst_budget(3), Some(322_800));
    /// ```
    pub fn worst_budget(&self, units: u64) -> Option<u64> {
        self.budget(units, self.window(units)?.shortest_s)
    }

    /// The fewest units that serve `demand` (in `per_s` seconds) and let `burst` through at once, each
    /// with `headroom` on top, rounded up once to what is sold. Without windows the burst is passed over.
    pub fn units_for_burst(
        &self,
        demand: impl Into<Ratio<u128>>,
        burst: impl Into<Ratio<u128>>,
        headroom: Ratio<u128>,
    ) -> Option<u64> {
        let steady = self.raw_units(demand, headroom)?;
        if self.windows.is_empty() {
            return self.sold(&steady);
        }
        let burst = burst.into().checked_mul(&headroom.checked_add(&Ratio::from(1))?)?;
        let ends = self.windows.iter().skip(1).map(|next| Some(next.from_units)).chain([None]);
        for (window, end) in self.windows.iter().zip(ends) {
            // A window lets through throughput x units x seconds / per_s.
            let per_unit = u128::from(self.throughput?) * u128::from(window.shortest_s);
            let at_once = burst.checked_mul(&Ratio::new(self.per_s.into(), per_unit.max(1)))?;
            let units = self.sold(&steady.max(at_once).max(Ratio::from(u128::from(window.from_units))))?;
            if end.is_none_or(|end| units < end) {
                return Some(units);
            }
        }
        None
    }
}

/// What is wrong with a unit's windows, if anything: the field and why.
pub(crate) fn fault(windows: &[UnitWindow]) -> Option<(String, String)> {
    let wrong = |message: &str| Some(("window".to_owned(), message.to_owned()));
    if windows.first().is_some_and(|first| first.from_units != 1) {
        return wrong("the first is from 1 unit");
    }
    if windows.iter().any(|window| window.shortest_s == 0 || window.shortest_s > window.longest_s) {
        return wrong("shortest_s is 1 or more, and no longer than longest_s");
    }
    let grows = windows
        .iter()
        .zip(windows.iter().skip(1))
        .any(|(fewer, more)| more.from_units <= fewer.from_units || more.shortest_s > fewer.shortest_s);
    if grows { wrong("windows stand by units, fewest first, and shrink as units grow") } else { None }
}
